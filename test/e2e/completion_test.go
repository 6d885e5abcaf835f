package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// completions completes the last word of "kubectl imoocpod …" with kubectl, like the completion
// script of a shell. It returns a line for each candidate, and a line with the completion directive.
func completions(t *testing.T, env []string, args ...string) string {
	t.Helper()
	return harness.Must(t, cluster.KubectlFrom(t, "", env, "", append([]string{"__complete", "imoocpod"}, args...)...))
}

// asKrew installs the plugin like krew: the program in a store, and a link to it in a directory on
// PATH. It returns the directory and the environment.
func asKrew(t *testing.T) (dir string, env []string) {
	t.Helper()
	home := t.TempDir()
	store, dir := filepath.Join(home, "store", "v1"), filepath.Join(home, "bin")
	for _, d := range []string{store, dir} {
		if err := os.MkdirAll(d, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	stored := filepath.Join(store, "kubectl-imoocpod")
	if err := os.Link(filepath.Join(cluster.PluginDir, "kubectl-imoocpod"), stored); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(stored, filepath.Join(dir, "kubectl-imoocpod")); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"PATH=" + strings.Join([]string{dir, cluster.Bin, os.Getenv("PATH")}, string(os.PathListSeparator))}
}

// "completion install" creates the link on PATH that kubectl needs for completion, and "completion
// uninstall" removes it. Neither touches the user's files.
func TestCompletionInstall(t *testing.T) {
	t.Parallel()
	dir, env := asKrew(t)
	link := filepath.Join(dir, "kubectl_complete-imoocpod")
	run := func(args ...string) harness.Result {
		return cluster.KubectlFrom(t, "", env, "", append([]string{"imoocpod", "completion"}, args...)...)
	}

	if out := completions(t, env, "sta"); strings.Contains(out, "status") {
		t.Errorf("kubectl completes sta before completion is installed: %s", out)
	}
	for _, step := range []struct{ verb, want string }{
		{"uninstall", "does not exist"}, {"install", "created"}, {"install", "unchanged"},
	} {
		if r := run(step.verb); harness.Must(t, r) != link+" "+step.want+"\n" || r.Stderr != "" {
			t.Errorf("completion %s: stdout %q, stderr %q, want %s", step.verb, r.Stdout, r.Stderr, step.want)
		}
	}
	if out := completions(t, env, "sta"); !strings.HasPrefix(out, "status\tShow whether ") || !strings.HasSuffix(out, "\n:4\n") {
		t.Errorf("candidates for sta = %q, want status", out)
	}
	// The command replaces a link to an older version.
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere/kubectl-imoocpod-v0", link); err != nil {
		t.Fatal(err)
	}
	if out := harness.Must(t, run("install")); out != link+" configured\n" || !strings.Contains(completions(t, env, "sta"), "status\t") {
		t.Errorf("completion install over an old link printed %q, or kubectl still does not complete sta", out)
	}
	if out := harness.Must(t, run("uninstall")); out != link+" deleted\n" {
		t.Errorf("completion uninstall printed %q, want %q", out, link+" deleted\n")
	}
	if _, err := os.Lstat(link); !os.IsNotExist(err) {
		t.Errorf("the link still exists after completion uninstall (error %v)", err)
	}

	// The user already has a program with the name of the link.
	if err := os.WriteFile(link, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"install", "uninstall"} {
		want := "error: precondition not met: " + link + " exists and is not a link to this program\n"
		if r := run(verb); r.Code != 7 || r.Stdout != "" || r.Stderr != want {
			t.Errorf("completion %s over a file: exit code %d, stdout %q, stderr %q, want %q", verb, r.Code, r.Stdout, r.Stderr, want)
		}
	}
	if harness.ReadFile(t, link) != "#!/bin/sh\n" {
		t.Error("the file of the user was changed")
	}

	// Call the program by its path in a directory that is not on PATH.
	elsewhere := exec.Command(filepath.Join(filepath.Dir(dir), "store", "v1", "kubectl-imoocpod"), "completion", "install")
	elsewhere.Env = append(cluster.Environment(), env...)
	if out, err := elsewhere.CombinedOutput(); err != nil || !strings.Contains(string(out), "v1/kubectl_complete-imoocpod created\nWarning: ") {
		t.Errorf("completion install outside PATH: error %v, output %s", err, out)
	}
}

// A kind with a replica count in each element of a list.
const (
	searches = "searches.array.example.com"
	search   = `{apiVersion: array.example.com/v1, kind: Search, metadata: {name: it}, spec: {nodeSets: [{name: hot set, count: 2}]}}`
)

// wordsByRef replaces a function of bash-completion that the scripts of kubectl and cobra call.
const wordsByRef = `
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]/}
bind 'set enable-bracketed-paste off'
PS1='ready> '
`

// Completion works in a terminal through the scripts of kubectl and of the plugin: it completes a
// name, lists several names with their states, and quotes special characters. bash is always
// available, because make requires it. CI installs and tests other shells, too. Their scripts come
// from cobra, and request the same candidates.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, searches, search)
	cluster.Imoocpod(t, ns, "create", "alpha", "--replicas", "0")
	cluster.Imoocpod(t, ns, "create", "beta-one", "--replicas", "3")
	cluster.Imoocpod(t, ns, "create", "beta-two", "--replicas", "0")
	_, env := asKrew(t)
	harness.Must(t, cluster.KubectlFrom(t, "", env, "", "imoocpod", "completion", "install"))

	for shell, start := range map[string]struct{ args, rc string }{
		"bash": {"--noprofile --norc -i", wordsByRef + `source <(kubectl completion bash); source <(kubectl-imoocpod completion bash)`},
		"zsh":  {"-f -i", `autoload -Uz compinit; compinit -D; source <(kubectl completion zsh); source <(kubectl-imoocpod completion zsh); compdef _kubectl-imoocpod kubectl-imoocpod; PS1='ready> '`},
		"fish": {"--no-config -i", `kubectl completion fish | source; kubectl-imoocpod completion fish | source; function fish_prompt; echo 'ready> '; end`},
	} {
		if _, err := exec.LookPath(shell); err != nil && shell != "bash" {
			t.Logf("%s is not installed", shell)
			continue
		}
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			rc := harness.WriteFile(t, start.rc)
			s := cluster.StartTerminal(t, 100, 30, append(env, "HOME="+home, "ZDOTDIR="+home, "INPUTRC=/dev/null"), shell, strings.Fields(start.args)...)
			s.Press("source " + rc + "\r")
			s.AwaitText("\nready>")
			for _, program := range []string{"kubectl imoocpod", "kubectl-imoocpod"} {
				line := program + " status -n " + ns + " "
				s.Press(line + "al")
				s.AwaitText(line + "al")
				s.AwaitCompletion("\t", line+"alpha")
				s.Press("\x15") // clear the line
				s.AwaitScreen("the line is empty", func(text string) bool { return strings.HasSuffix(text, "ready>") })
				s.Press(line + "bet")
				s.AwaitCompletion("\t", "beta-")
				s.AwaitCompletion("\t\t", "0/3 ready")
				s.AwaitText("beta-two")
				s.Press("\x15clear\r")
				s.AwaitScreen("the screen is empty", func(text string) bool { return text == "ready>" })
			}
			program := "kubectl imoocpod"
			if script := cluster.Kubectl(t, "", "completion", "bash"); shell == "bash" && !strings.Contains(harness.Must(t, script), "%q") {
				program = "kubectl-imoocpod" // an older kubectl does not quote candidates
			}
			s.Press(program + " scale --replicas 5 -n " + ns + " searches/it --replicas-path .spec.nod")
			s.AwaitCompletion("\t", "count")
			s.Press("\r")
			s.AwaitText("search.array.example.com/it scaled")
			s.Press("exit\r")
			if code := s.Wait(); code != 0 {
				t.Errorf("exit code of %s = %d, want 0", shell, code)
			}
		})
	}
}
