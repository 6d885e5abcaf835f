package cmd

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// The script for bash works without the package bash-completion.
func TestBashCompletionWithoutItsPackage(t *testing.T) {
	t.Parallel()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	root := NewRootCommand("v1", streams)
	root.SetArgs([]string{"completion", "bash"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ line, answer, want string }{
		{"tool scale ", `json\nyaml\n:4`, "json yaml"},
		{"tool scale --output=j", `json\nyaml\n:4`, "json"},
		{"tool scale -f cm", `yaml\n:8`, "cmd"},
		{"tool scale -k cm", `:16`, "cmd"},
	} {
		script := out.String() + "compopt() { :; }; tool() { printf '" + test.answer + "\\n'; }\n" +
			"COMP_LINE='" + test.line + "' COMP_POINT=${#COMP_LINE} COMP_TYPE=9; __start_kubectl-imoocpod; echo ${COMPREPLY[*]}"
		cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-c", script)
		cmd.Dir = ".."
		var complaints strings.Builder
		cmd.Stderr = &complaints
		got, err := cmd.Output()
		if err != nil || complaints.Len() > 0 || strings.TrimSpace(string(got)) != test.want {
			t.Errorf("%s: error %v, stderr %q, completions %q, want %q", test.line, err, complaints.String(), got, test.want)
		}
	}
}

// The link for kubectl is next to the program. install and uninstall reject a link that leads to another program.
func TestCompletionLink(t *testing.T) {
	t.Parallel()
	plugin := filepath.Join(t.TempDir(), "kubectl-imoocpod")
	link := filepath.Join(filepath.Dir(plugin), completionProgram)
	for _, step := range []struct{ leadsTo, verb, says, then string }{
		{"", "install", "find this program", ""},
		{"", "uninstall", "find this program", ""},
		{"", "uninstall", " does not exist", ""},
		{"", "install", " created", "kubectl-imoocpod"},
		{"kubectl-imoocpod", "install", " unchanged", "kubectl-imoocpod"},
		{"/old/kubectl-imoocpod-v1", "install", " configured", "kubectl-imoocpod"},
		{"kubectl-imoocpod-v1", "uninstall", " deleted", ""},
		{"other", "install", " is not a link to this program", "other"},
		{"other", "uninstall", " is not a link to this program", "other"},
	} {
		if _ = os.Remove(link); step.leadsTo != "" {
			_ = os.Symlink(step.leadsTo, link)
		}
		streams, _, out, errOut := genericiooptions.NewTestIOStreams()
		o := &completionOptions{common: commonOptions{streams: streams}, called: plugin}
		err := map[string]func(io.Writer) error{"install": o.install, "uninstall": o.uninstall}[step.verb](out)
		warned := strings.HasPrefix(errOut.String(), "Warning: "+filepath.Dir(plugin)+" is not on PATH")
		if then, _ := os.Readlink(link); then != step.then || !strings.Contains(fmt.Sprint(out, err), step.says) || warned != (err == nil && step.verb == "install") {
			t.Errorf("%+v: error %v, stdout %q, stderr %q, link target %q", step, err, out, errOut, then)
		}
		if step.verb == "uninstall" { // the rows after the first uninstall find the program
			_ = os.WriteFile(plugin, nil, 0o700)
		}
	}
	if got, plain := Arguments([]string{link + ".exe", "status"}), Arguments([]string{plugin, "status"}); !slices.Equal(got, []string{"__complete", "status"}) || !slices.Equal(plain, got[1:]) {
		t.Errorf("arguments through the link = %q, without the link %q", got, plain)
	}
}

// PATH can contain the directory of the link with a slash at the end.
func TestCompletionLinkOnPath(t *testing.T) { // not parallel, because it sets PATH
	plugin := filepath.Join(t.TempDir(), "kubectl-imoocpod")
	t.Setenv("PATH", filepath.Dir(plugin)+"/")
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	_ = os.WriteFile(plugin, nil, 0o700)
	if err := (&completionOptions{common: commonOptions{streams: streams}, called: plugin}).install(io.Discard); err != nil || errOut.Len() > 0 {
		t.Errorf("error %v, stderr %q", err, errOut)
	}
}

// Every verb has a completion for its arguments, even if the completion offers nothing. --output completes to
// the formats in its help.
func TestEverythingCompletes(t *testing.T) {
	t.Parallel()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	for _, verb := range commandsBelow(NewRootCommand("v1", streams)) {
		if verb.ValidArgsFunction == nil && len(verb.ValidArgs) == 0 {
			t.Errorf("%s does not complete its arguments", verb.Name())
		}
		flag := verb.Flags().Lookup("output")
		if flag == nil {
			continue
		}
		complete, _ := verb.GetFlagCompletionFunc("output")
		formats, _ := complete(verb, nil, "")
		if len(formats) == 0 || !strings.Contains(flag.Usage, strings.Join(formats, ", ")) {
			t.Errorf("%s --output completes to %q, which is not in its help %q", verb.Name(), formats, flag.Usage)
		}
	}
}
