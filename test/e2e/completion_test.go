package e2e

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// completions asks kubectl, as a shell's completion script does, to complete the last
// word of "kubectl imoocpod …". It returns a line for each candidate and one for the
// directive to the shell.
func completions(t *testing.T, env []string, args ...string) string {
	t.Helper()
	return harness.Must(t, cluster.KubectlWith(t, env, "", append([]string{"__complete", "imoocpod"}, args...)...))
}

// asKrew installs the plugin as krew does: the program in a store, and a link to it in a
// directory on PATH. It returns that directory and the environment.
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

// The link that kubectl needs for completion is created on PATH, reported, and removed.
// Files of others are left alone.
func TestCompletionInstall(t *testing.T) {
	t.Parallel()
	dir, env := asKrew(t)
	link := filepath.Join(dir, "kubectl_complete-imoocpod")
	run := func(args ...string) harness.Result {
		return cluster.KubectlWith(t, env, "", append([]string{"imoocpod", "completion"}, args...)...)
	}

	if out := completions(t, env, "sta"); strings.Contains(out, "status") {
		t.Errorf("it completes before it is installed: %s", out)
	}
	for _, step := range []struct{ verb, want string }{
		{"uninstall", "does not exist"}, {"install", "created"}, {"install", "unchanged"},
	} {
		if r := run(step.verb); harness.Must(t, r) != link+" "+step.want+"\n" || r.Stderr != "" {
			t.Errorf("%s printed %q and said %q", step.verb, r.Stdout, r.Stderr)
		}
	}
	if out := completions(t, env, "sta"); !strings.HasPrefix(out, "status\tShow whether ") || !strings.HasSuffix(out, "\n:4\n") {
		t.Errorf("it completes %q", out)
	}
	// A link of an older version is replaced.
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere/kubectl-imoocpod-v0", link); err != nil {
		t.Fatal(err)
	}
	if out := harness.Must(t, run("install")); out != link+" configured\n" || !strings.Contains(completions(t, env, "sta"), "status\t") {
		t.Errorf("over an old link it printed %q", out)
	}
	if out := harness.Must(t, run("uninstall")); out != link+" deleted\n" {
		t.Errorf("it printed %q", out)
	}
	if _, err := os.Lstat(link); !os.IsNotExist(err) {
		t.Errorf("the link still exists: %v", err)
	}

	// The user has a program of that name.
	if err := os.WriteFile(link, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"install", "uninstall"} {
		want := "error: precondition not met: " + link + " exists and is not a link to this program\n"
		if r := run(verb); r.Code != 7 || r.Stdout != "" || r.Stderr != want {
			t.Errorf("%s over a file: exit code %d, printed %q, said %q", verb, r.Code, r.Stdout, r.Stderr)
		}
	}
	if harness.ReadFile(t, link) != "#!/bin/sh\n" {
		t.Error("the file was changed")
	}

	// Called by its path, from a directory that is not on PATH.
	elsewhere := exec.Command(filepath.Join(filepath.Dir(dir), "store", "v1", "kubectl-imoocpod"), "completion", "install")
	elsewhere.Env = append(cluster.Environment(), env...)
	if out, err := elsewhere.CombinedOutput(); err != nil || !strings.Contains(string(out), "v1/kubectl_complete-imoocpod created\nWarning: ") {
		t.Errorf("off PATH: %v, %s", err, out)
	}
}

// A kind whose counts are in the elements of a list.
const (
	searches = "searches.array.example.com"
	search   = `{apiVersion: array.example.com/v1, kind: Search, metadata: {name: it}, spec: {nodeSets: [{name: hot set, count: 2}]}}`
)

// Completion candidates, as passed through by kubectl.
func TestCompletion(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	cluster.Imoocpod(t, ns, "create", "food", "--replicas", "2")
	status := []byte(`{"status":{"readyReplicas":1,"replicas":2,"observedGeneration":1}}`)
	if _, err := cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(ns).Patch(t.Context(), "food", types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, ns, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: busybox}]}}`)
	cluster.CreateObject(t, ns, searches, search)
	_, env := asKrew(t)
	harness.Must(t, cluster.KubectlWith(t, env, "", "imoocpod", "completion", "install"))

	const noFile, noSpace = ":4", ":6"
	for _, test := range []struct {
		words string // the last one is completed; "_" stands for an empty word
		want  string // lines that must be present
		never string // must not be present
	}{
		{"de", "delete\tDelete |describe\tShow |" + noFile, "create"},
		{"scale --curr", "--current-replicas\t|" + noFile, "--replicas"},
		{"status -n " + ns + " foo", "foo\t0/0 ready|food\t1/2 ready|" + noFile, "deploy"},
		{"status -n " + ns + " --context cluster _", "foo\t0/0 ready|imoocpods\tImoocPod batch|deployments\tDeployment apps|" + noFile, "roles"},
		{"status -n " + ns + " foo _", noFile, "food"},
		{"status -n " + ns + " imoocpods foo _", "food\t1/2 ready|" + noFile, "foo\t"},
		{"scale -n " + ns + " deploy/", "deploy/web|" + noFile, "foo"},
		{"delete -n " + ns + " imoocpod/foo imo", "imoocpods/\tImoocPod|" + noSpace, "foo"},
		{"delete -n " + ns + " imoocpod/foo imoocpod/f", "imoocpod/food\t1/2 ready|" + noFile, "foo\t"},
		{"delete --all -n " + ns + " depl", "deployments\tDeployment apps|" + noFile, "foo"},
		{"delete -f x -n " + ns + " _", noFile, "foo"},
		{"create _", "deployments/\tDeployment apps|" + noSpace, "food"},
		{"status --namespace " + ns[:2], ns + "|" + noFile, "default"},
		{"status --namespace=" + ns[:2], ns + "|" + noFile, "default"},
		{"status --context _", "cluster|" + noFile, "food"},
		{"status -o js", "json|jsonpath|" + noFile, "yaml"},
		{"kinds -o c", "custom-columns|" + noFile, "yaml"},
		{"version -o _", "yaml|json|" + noFile, "wide"},
		{"delete -o _", "name|" + noFile, "wide"},
		{"scale foo --dry-run=s", "server|" + noFile, "client"},
		{"delete foo --cascade=o", "orphan|" + noFile, "background"},
		{"wait foo --for c", "create|condition=|" + noFile, "ready"},
		{"run-controller --if-held _", "wait|exit|" + noFile, "foo"},
		{"scale foo --replicas _", noFile, "foo"},
		{"scale -n " + ns + " deploy/web --replicas-path _", ".spec.replicas\t/scale|" + noFile, "minReady"},
		{"scale -n " + ns + " deploy/missing --replicas-path _", noFile, "spec"},
		{"scale -n " + ns + " foo --replicas-path _", ".spec.replicas\tbuilt in|" + noFile, "template"},
		{"scale -n " + ns + " " + searches + "/it --replicas-path .spec.node", `.spec.nodeSets[?(@.name=="hot set")].count` + "\t(now 2): How many nodes|" + noFile, "version"},
		{"completion z", "zsh\t|" + noFile, "bash"},
		// Missing rights and invalid arguments cause no error message.
		{"status --as nobody -n " + ns + " f", noFile, "food"},
		{"status --context nowhere f", noFile, "foo"},
		{"status nonsense _", noFile, "foo"},
		{"nonsense _", ":0", "foo"},
	} {
		words := strings.Fields(test.words)
		if last := len(words) - 1; words[last] == "_" {
			words[last] = ""
		}
		// A busy machine may not answer in time.
		var out string
		want := strings.Split(test.want, "|")
		harness.Eventually(t, "completion of "+test.words+" offers "+test.want, func() bool {
			out = completions(t, env, words...)
			for _, line := range want {
				if !strings.Contains("\n"+out, "\n"+line) {
					return false
				}
			}
			return true
		})
		if strings.Contains(out, test.never) {
			t.Errorf("completion of %s: %q, want nothing with %s", test.words, out, test.never)
		}
	}
}

// Completion does not wait for a server that does not answer.
func TestCompletionTimeout(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	asked := make(chan struct{}, 16)
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				asked <- struct{}{}
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	for _, args := range [][]string{{"status", "f"}, {"status", "-n", "d"}, {"scale", "deploy/web", "--replicas-path", ""}} {
		args = append([]string{args[0], "--server", "http://" + silent.Addr().String(), "--cache-dir", t.TempDir()}, args[1:]...)
		_, env := asKrew(t)
		harness.Must(t, cluster.KubectlWith(t, env, "", "imoocpod", "completion", "install"))
		if out := completions(t, env, args...); out != ":4\n" {
			t.Errorf("%v: %q", args, out)
		}
		<-asked
	}
}

// wordsByRef replaces the function of the package bash-completion that the scripts of
// kubectl and cobra call.
const wordsByRef = `
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]/}
bind 'set enable-bracketed-paste off'
PS1='ready> '
`

// Completion works in a terminal through kubectl's own script: it completes a name,
// lists several with their states, and quotes special characters. bash is always
// available, because make requires it. The other shells are tested where CI installs
// them; their scripts are cobra's and ask for the same candidates.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, searches, search)
	cluster.Imoocpod(t, ns, "create", "alpha", "--replicas", "0")
	cluster.Imoocpod(t, ns, "create", "beta-one", "--replicas", "3")
	cluster.Imoocpod(t, ns, "create", "beta-two", "--replicas", "0")
	_, env := asKrew(t)
	harness.Must(t, cluster.KubectlWith(t, env, "", "imoocpod", "completion", "install"))

	for shell, start := range map[string]struct{ args, rc string }{
		"bash": {"--noprofile --norc -i", wordsByRef + `source <(kubectl completion bash); source <(kubectl-imoocpod completion bash)`},
		"zsh":  {"-f -i", `autoload -Uz compinit; compinit -D; source <(kubectl completion zsh); source <(kubectl-imoocpod completion zsh); compdef _kubectl-imoocpod kubectl-imoocpod; PS1='ready> '`},
		"fish": {"--no-config -i", `kubectl completion fish | source; kubectl-imoocpod completion fish | source; function fish_prompt; echo 'ready> '; end`},
	} {
		if _, err := exec.LookPath(shell); err != nil && shell != "bash" {
			t.Logf("%s is not on this machine", shell)
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
			s.Press("kubectl imoocpod scale --replicas 5 -n " + ns + " searches/it --replicas-path .spec.nod")
			s.AwaitCompletion("\t", "count")
			s.Press("\r")
			s.AwaitText("search.array.example.com/it scaled")
			s.Press("exit\r")
			if code := s.Wait(); code != 0 {
				t.Errorf("%s ended with %d", shell, code)
			}
		})
	}
}
