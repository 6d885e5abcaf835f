package docs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/imoocpod/kubectl-imoocpod/"

// layer is a package, or a directory with several packages.
type layer struct {
	path, about string
	// pure means that the layer imports only pure layers, and no package that impure returns.
	pure bool
}

// layers returns the layers from top to bottom. A package imports only lower layers, its own layer, and subpackages.
func layers() []layer {
	return []layer{
		{path: "cmd/kubectl-imoocpod", about: "streams, signals, the one mapping from error to exit code"},
		{path: "pkg/cmd", about: "the verbs, one file each; shared flags are structs that a verb composes"},
		{path: "pkg/controller/run", about: "what run-controller adds to the loop: scope, log, serving, once, dry run"},

		{path: "pkg/render", about: "shows what others have found"},
		{path: "pkg/render/terminal", about: "a live screen, and the progress of a wait"},
		{path: "pkg/render/printer", about: "model → text"},

		{path: "pkg/change", about: "writes one object, always guarded"},
		{path: "pkg/change/template", about: "a pod template: history, places, the write"},
		{path: "pkg/change/template/podtemplate", about: "finds pod templates in a schema; sets images, env, resources; restarts", pure: true},
		{path: "pkg/change/template/revision", about: "revisions, what changed between two, and the way back", pure: true},
		{path: "pkg/change/replicas", about: "a count: set, steps, remove, park, undo, revert"},
		{path: "pkg/change/edit", about: "reads, edits, patches, retries; checks and reverts what it wrote"},

		{path: "pkg/inspect", about: "reads, never writes"},
		{path: "pkg/inspect/doctor", about: "finds out what check checks"},
		{path: "pkg/inspect/doctor/check", about: "judges what was found, and names the command that fixes it", pure: true},
		{path: "pkg/inspect/logs", about: "reads and follows the logs of many containers"},
		{path: "pkg/inspect/observe", about: "reads an object and all below it, follows it, waits"},
		{path: "pkg/inspect/observe/feeds", about: "one list and one watch of each type that targets share"},
		{path: "pkg/inspect/facts", about: "what the status of a kind can say; profiles of others' kinds", pure: true},
		{path: "pkg/inspect/grace", about: "how long a wait goes on while an object fails", pure: true},
		{path: "pkg/inspect/status", about: "snapshot in, verdict and tree out", pure: true},

		{path: "pkg/controller", about: "the loop: event → key → view → plan → apply → status"},
		{path: "pkg/controller/lease", about: "one loop at a time"},
		{path: "pkg/controller/lease/holder", about: "who holds the leases: which loops, and whether their processes still run here"},
		{path: "pkg/controller/report", about: "lines of the log, events on objects"},
		{path: "pkg/controller/memory", about: "what the loop remembers of an object and expects to see"},
		{path: "pkg/controller/strategy", about: "a file for each way to keep pods"},
		{path: "pkg/controller/informer", about: "caches that notice when the server does not answer"},
		{path: "pkg/controller/metrics", about: "counts what the loops of a process do"},
		{path: "pkg/controller/plan", about: "view in, actions out", pure: true},

		{path: "pkg/inspect/budget", about: "the PodDisruptionBudgets that guard pods", pure: true},
		{path: "pkg/inspect/problem", about: "pods, and why they are not ready", pure: true},
		{path: "pkg/inspect/competing", about: "who else sets the number of pods of an object", pure: true},
		{path: "pkg/inspect/words", about: "what words, conditions, and fields of a status mean", pure: true},

		{path: "pkg/kube", about: "the clients of one command, within bounds of time and memory"},
		{path: "pkg/kube/follow", about: "one list and one watch of objects"},

		{path: "pkg/kinds/discover", about: "asks the server about kinds: CRD, schema, replica field"},
		{path: "pkg/kinds/candidates", about: "searches a schema and an object for fields that may hold a count", pure: true},
		{path: "pkg/kinds", about: "kinds shipped and declared, mappings, rights, scaffold", pure: true},

		{path: "pkg/controller/lease/leaserecord", about: "who holds a lease, and which objects that loop reconciles", pure: true},
		{path: "pkg/slots", about: "which pods an object has: names, wanted slots, removed slots", pure: true},
		{path: "pkg/fieldpath", about: "the path to one field: parse, locate, get, set, patch, who manages it", pure: true},
		{path: "pkg/outcome", about: "errors that have an exit code"},
		{path: "pkg/commandline", about: "composes commands that a reader can paste", pure: true},
		{path: "pkg/escape", about: "makes text of others safe to show", pure: true},
		{path: "pkg/apis", about: "the type of ImoocPods, labels, annotations", pure: true},
		{path: "deploy", about: "the manifests that install applies"},
	}
}

// halves returns the directories of the two halves of the program: the commands and the controller.
func halves() (verbs, loop []string) {
	return []string{"pkg/change", "pkg/inspect", "pkg/render"}, []string{"pkg/controller"}
}

// shared returns the packages inside one half that both halves import.
func shared() []string {
	return []string{"pkg/inspect/problem", "pkg/inspect/words", "pkg/controller/lease/leaserecord", "pkg/controller/lease/holder"}
}

// impure returns packages that a pure package must not import. It must not import their subpackages either.
func impure() []string {
	return []string{
		"context", "net", "net/http", "os", "os/exec", "k8s.io/client-go/discovery", "k8s.io/client-go/dynamic", "k8s.io/client-go/kubernetes/typed",
		"k8s.io/client-go/rest", "k8s.io/client-go/tools", "k8s.io/cli-runtime", "k8s.io/klog", "k8s.io/utils/clock",
	}
}

func within(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return path == root || strings.HasPrefix(path, root+"/") })
}

// floor returns the index of the innermost layer that contains a package, or -1 if there is none.
func floor(path string) int {
	for ; path != "."; path = filepath.Dir(path) {
		if i := slices.IndexFunc(layers(), func(l layer) bool { return l.path == path }); i >= 0 {
			return i
		}
	}
	return -1
}

// TestImports checks the imports of the packages in cmd and pkg against the layers.
func TestImports(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./cmd/...", "./pkg/...")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := layers()
	for line := range strings.Lines(string(out)) {
		packages := strings.Fields(line)
		from := strings.TrimPrefix(packages[0], module)
		at := floor(from)
		if at < 0 {
			t.Errorf("package %s is not in layers", from)
			continue
		}
		for _, path := range packages[1:] {
			to, ours := strings.CutPrefix(path, module)
			switch {
			case !ours && all[at].pure && within(path, impure()):
				t.Errorf("pure package %s imports %s", from, path)
			case !ours || strings.HasPrefix(to, from+"/"):
			case floor(to) < at:
				t.Errorf("%s imports %s, which is in a higher layer", from, to)
			case all[at].pure && !all[floor(to)].pure:
				t.Errorf("pure package %s imports %s, which is not pure", from, to)
			case crosses(from, to):
				t.Errorf("%s imports %s, which is in the other half of the program", from, to)
			}
		}
	}
}

// crosses reports whether an import leads from one half of the program to the other. pkg/controller/run and
// packages outside the halves may import both halves. Every package may import the packages that shared returns.
func crosses(from, to string) bool {
	if within(to, shared()) || within(from, []string{"pkg/controller/run"}) {
		return false
	}
	verbs, loop := halves()
	return within(from, verbs) && within(to, loop) || within(from, loop) && within(to, verbs)
}

var update = flag.Bool("update", false, "rewrite the picture in docs/architecture.md")

// TestPicture compares the picture in docs/architecture.md with the result of picture.
func TestPicture(t *testing.T) {
	const begin, end = "<!-- packages -->\n```\n", "```\n<!-- /packages -->"
	page := read(t, "docs/architecture.md")
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("docs/architecture.md has no markers around the list of packages")
	}
	wanted := before + begin + picture() + end + after
	if *update {
		if err := os.WriteFile(filepath.Join(root, "docs/architecture.md"), []byte(wanted), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if page != wanted {
		t.Error(`the list of packages in docs/architecture.md is outdated: run "go test ./docs -run TestPicture -update"`)
	}
}

// picture returns the picture of the packages, with a line for each layer.
func picture() string {
	var b strings.Builder
	for _, l := range layers() {
		about := l.about
		if l.pure {
			about = "pure: " + about
		}
		fmt.Fprintf(&b, "%-36s %s\n", l.path, about)
	}
	return b.String()
}
