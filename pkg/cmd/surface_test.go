package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// longestHelp is the maximum number of lines of a help text.
const longestHelp = 60

// exceptions returns the flags that are allowed to differ between verbs, each with the reason.
func exceptions() map[string]string {
	return map[string]string{
		"wait --timeout":           "as in kubectl wait: 30 seconds, zero checks once, negative waits for a week",
		"install --timeout":        "for each object, never without a limit",
		"uninstall --timeout":      "likewise",
		"run-controller --timeout": "only with --once and --dry-run",
		"run-controller --dry-run": "there are no requests to check on the server",
		"run-controller --output":  "of --dry-run",
		"delete --wait":            "as in kubectl delete: waits by default",
		"status --wait":            "changes nothing",
		"create --replicas":        "has a default",
		"install --replicas":       "of the controller",
		"install --image":          "of the controller",
		"new --image":              "has a default",
		"new --group":              "an API group",
		"rbac --filename":          "one file, with CRDs",
		"pause --for":              "a time; in kubectl wait, --for is a condition",
		"kinds --output":           "lists have more formats",
		"status --output":          "likewise",
		"create --filename":        "with objects that do not exist yet",
	}
}

// verbsOf returns all commands below the root, by name.
func verbsOf(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	all := map[string]*cobra.Command{}
	for _, cmd := range commandsBelow(NewRootCommand("v1", genericiooptions.NewTestIOStreamsDiscard())) {
		all[cmd.Name()] = cmd
	}
	return all
}

func TestFlagsAreConsistent(t *testing.T) {
	t.Parallel()
	type flag struct{ kind, value, usage, shorthand string }
	first, of := map[string]flag{}, map[string]string{}
	unused := exceptions()
	for name, cmd := range verbsOf(t) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			key := name + " --" + f.Name
			if f.Name == "help" || exceptions()[key] != "" {
				delete(unused, key)
				return
			}
			is := flag{f.Value.Type(), f.DefValue, f.Usage, f.Shorthand}
			if f.Name == "output" {
				is.usage = "" // differs by verb
			}
			if was, seen := first[f.Name]; seen && was != is {
				t.Errorf("%s is %+v, but the flag of %s is %+v", key, is, of[f.Name], was)
			}
			first[f.Name], of[f.Name] = is, name
		})
	}
	for key := range unused {
		t.Errorf("exceptions lists %s, which does not exist", key)
	}
}

func TestCommonFlags(t *testing.T) {
	t.Parallel()
	all := verbsOf(t)
	for name := range strings.FieldsSeq("create scale park unpark restart pause resume image env resources undo") {
		for flag := range strings.FieldsSeq("filename recursive kustomize output dry-run wait timeout settle fail-after logs on-failure") {
			if all[name].Flag(flag) == nil {
				t.Errorf("%s has no flag --%s", name, flag)
			}
		}
	}
	for name := range strings.FieldsSeq("scale park unpark restart pause resume image env resources undo delete status describe history wait logs") {
		for flag := range strings.FieldsSeq("selector all") {
			if all[name].Flag(flag) == nil {
				t.Errorf("%s has no flag --%s", name, flag)
			}
		}
	}
}

// The help of a verb is short, and kubectl's common flags come last.
func TestHelpIsShort(t *testing.T) {
	t.Parallel()
	for name, cmd := range verbsOf(t) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.InitDefaultHelpFlag()
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n > longestHelp {
			t.Errorf("the help of %s has %d lines, want at most %d", name, n, longestHelp)
		}
		_, own, _ := strings.Cut(out.String(), "\nFlags:\n")
		own, kubectls, _ := strings.Cut(own, "\nFlags as in kubectl:\n")
		if strings.Contains(own, " --selector ") || cmd.Flag("selector") != nil && !strings.Contains(kubectls, " --selector ") {
			t.Errorf("the help of %s lists --selector among its own flags, or not among those of kubectl:\n%s", name, out.String())
		}
	}
}
