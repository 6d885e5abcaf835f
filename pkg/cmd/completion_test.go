package cmd

import (
	"os/exec"
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
			t.Errorf("%s: %v, %q, it printed %q, want %q", test.line, err, complaints.String(), got, test.want)
		}
	}
}
