package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/resource"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Arguments that can only name ImoocPods need no discovery.
func TestImoocPodArguments(t *testing.T) {
	t.Parallel()
	const full = "imoocpods.batch.tutorial.kubebuilder.io"
	for args, want := range map[string]string{
		"foo":           "foo",
		"deployment":    "deployment",
		"imoocpod/foo":  "foo",
		"imoocpods/foo": "foo",
		full + "/foo":   "foo",
		"imoocpod.batch.tutorial.kubebuilder.io/foo": "foo",
		"imoocpod foo":               "foo",
		"imoocpods foo bar":          "foo bar",
		full + " foo bar":            "foo bar",
		"imoocpod/foo imoocpods/bar": "foo bar",
		// These need discovery.
		"":                            "-",
		"imp/foo":                     "-",
		"imp foo":                     "-",
		"deployment/foo":              "-",
		"deployment foo":              "-",
		"imoocpod/foo deployment/bar": "-",
		"imoocpods.example.com/foo":   "-",
		"foo bar":                     "-",
		"imoocpod,deployment foo":     "-",
		"foo imoocpod/bar":            "-",
	} {
		flags := &targetFlags{args: strings.Fields(args)}
		ok := flags.onlyImoocPods()
		if got := strings.Join(namesOf(flags), " "); ok != (want != "-") || ok && got != want {
			t.Errorf("%q: names %q, only ImoocPods %t, want %q (-: needs discovery)", args, got, ok, want)
		}
	}
	for _, flags := range []targetFlags{{all: true}, {allNamespaces: true}, {selector: "a=b"}} {
		flags.args = []string{"foo"}
		if names := namesOf(&flags); flags.onlyImoocPods() || len(names) > 0 {
			t.Errorf("%+v: the argument is a type, but is treated as the names %q", flags, names)
		}
	}
	empty := &targetFlags{args: []string{"imoocpod/"}}
	if names := namesOf(empty); !empty.onlyImoocPods() || !slices.Equal(names, []string{""}) {
		t.Errorf("imoocpod/: got names %q, want one empty name, which is rejected later", names)
	}
}

func namesOf(flags *targetFlags) (names []string) {
	for _, pair := range flags.named() {
		names = append(names, pair[1])
	}
	return names
}

// Arguments that cannot name objects are rejected before the first request.
func TestInvalidTargets(t *testing.T) {
	t.Parallel()
	files := resource.FilenameOptions{Filenames: []string{"f"}}
	for _, test := range []struct {
		flags targetFlags
		args  []string
		want  string
	}{
		{targetFlags{all: true}, nil, "a TYPE is required"},
		{targetFlags{selector: " ", without: toWrite}, nil, "a NAME or TYPE/NAME is required"},
		{targetFlags{all: true, without: toRead}, nil, ""},
		{targetFlags{files: files}, []string{"web"}, "-f and -k cannot be used together with arguments"},
		{targetFlags{}, []string{"deployment/"}, `arguments in resource/name form must have a single resource and name: "deployment/"`},
		{targetFlags{}, []string{"/web"}, `arguments in resource/name form must have a single resource and name: "/web"`},
		{targetFlags{}, []string{"a/b/c"}, `arguments in resource/name form must have a single resource and name: "a/b/c"`},
		{targetFlags{}, []string{"deployment/web", ""}, `invalid name "": it is empty`},
		{targetFlags{allNamespaces: true}, []string{"deployment/web"}, "a resource cannot be retrieved by name across all namespaces"},
		{targetFlags{allNamespaces: true}, []string{"deployment", "web"}, "a resource cannot be retrieved by name across all namespaces"},
		{targetFlags{allNamespaces: true, files: files}, nil, "-A cannot be used together with -f or -k"},
		{targetFlags{selector: "a=b"}, []string{"deployment", "web"}, "name cannot be provided when a selector is specified"},
		{targetFlags{selector: "a in ("}, []string{"deployment"}, `invalid argument "a in (" for "-l, --selector" flag: unable to parse requirement: found '', expected: ',', ')' or identifier`},
		{targetFlags{all: true}, []string{"deployment/web"}, "selectors and the all flag cannot be used when passing resource/name arguments"},
		{targetFlags{all: true}, []string{"deployment", "web"}, ""}, // as in kubectl, the name overrides --all
		{targetFlags{}, []string{"imoocpod/a/b"}, `invalid name "a/b": only lowercase letters, digits, '-', and '.' are allowed, with a letter or digit at the start, at the end, and around each '.'`},
		{targetFlags{all: true, allNamespaces: true, selector: "a=b"}, []string{"deployment"}, ""},
		{targetFlags{files: files, selector: "a=b"}, nil, ""},
	} {
		err := test.flags.complete(test.args)
		usage := (*outcome.UsageError)(nil)
		if got := fmt.Sprint(err); test.want != "" && (got != test.want || !errors.As(err, &usage)) || test.want == "" && err != nil {
			t.Errorf("%+v %q: got %v, want the usage error %q", test.flags, test.args, err, test.want)
		}
	}
}

// If accepted arguments name only ImoocPods, all names are valid.
func FuzzTargets(f *testing.F) {
	for _, args := range []string{"", "foo", "imoocpod/foo", "imoocpods foo bar", "imoocpod/", "/foo", "//", "imoocpod/a/b", "deployment/foo bar", "-"} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		words := strings.Fields(args)
		flags := &targetFlags{}
		if err := flags.complete(words); err != nil {
			return
		}
		names := namesOf(flags)
		for _, name := range names {
			if flags.onlyImoocPods() && apis.NameProblem(name) != "" {
				t.Errorf("%q is accepted, but names the ImoocPod %q, which is invalid", args, name)
			}
		}
		if bare := flags.bareName(); bare != "" && !slices.Equal(names, []string{bare}) {
			t.Errorf("%q: bare name %q, but names %q", args, bare, names)
		}
	})
}
