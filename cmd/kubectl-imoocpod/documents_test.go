package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// documented lists directives for stage.direct. They create the objects that the examples in docs use.
const documented = `
% play
% create {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {env: dev}}, spec: {replicas: 5, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: web:1}]}}}}
% create {apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, spec: {replicas: 3, template: {spec: {containers: [{name: app, image: "nginx:1.28"}]}}}}
% create {apiVersion: appcontroller.k8s.io/v1alpha1, kind: AppService, metadata: {name: shop}, spec: {deploymentName: shop, image: nginx, replicas: 1}}
% create {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: searches.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Search, plural: searches, singular: search}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {nodeSets: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, count: {type: integer, description: How many nodes of this set there are.}}}}}}}}}}]}}
% create {apiVersion: example.com/v1, kind: Search, metadata: {name: logs}, spec: {nodeSets: [{name: hot, count: 2}, {name: warm, count: 1}]}}
% create {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clones.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Clone, plural: clones, singular: clone}, versions: [{name: v1, served: true, storage: true, subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
% create {apiVersion: example.com/v1, kind: Clone, metadata: {name: my, labels: {env: dev}}, spec: {replicas: 3}}
% create {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: keycloaks.k8s.keycloak.org}, spec: {group: k8s.keycloak.org, scope: Namespaced, names: {kind: Keycloak, plural: keycloaks, singular: keycloak}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {image: {type: string}, unsupported: {type: object, properties: {podTemplate: {type: object, properties: {spec: {type: object, properties: {containers: {type: array, items: {type: object, properties: {name: {type: string}, image: {type: string}}}}}}}}}}}}}}}}]}}
% create {apiVersion: k8s.keycloak.org/v1, kind: Keycloak, metadata: {name: sso}, spec: {image: "keycloak:25"}}
% pass 1m
`

var (
	documentBlock = regexp.MustCompile("(?ms)^ *```(sh|console)\n(.*?)^ *```$")
	shellWord     = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	// elsewhereRun matches commands that cannot run in this test. They need a separate process, a second
	// client, or other objects. The end-to-end tests run most of them.
	elsewhereRun = regexp.MustCompile(`run-controller|imoocpod check|completion|--controller|uninstall|worker|guestbook| -f$| pod/foo|--step|nginx:1.30 --on-failure|\$[A-Z(]|<`)
)

// TestDocumentedCommands runs the commands in docs, with new objects for each block. A command must print the
// lines that follow it in the block. It must succeed, unless these lines show an error or its comment contains
// "exits with". In the lines, "…", "alice", an age, or a time of day matches anything.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range documentBlock.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(block[2], "kubectl imoocpod ") {
				continue
			}
			t.Run(filepath.Base(page), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) { tried += tryBlock(t, documented, block[1] == "console", block[2]) })
			})
		}
	}
	if tried < 35 {
		t.Errorf("ran only %d commands, want at least 35", tried)
	}
}

// inShell matches the examples to omit, because they need a shell, or an object that an earlier example changes.
var inShell = regexp.MustCompile(`(?m)^.*(\| | > |--remove|--to-revision|--cascade).*$`)

var commentLine = regexp.MustCompile(`(?m)^ *#.*$`)

// TestExamplesOfCommands checks that every command has a description and examples, and that its examples are
// valid and succeed. Each command gets new objects.
func TestExamplesOfCommands(t *testing.T) {
	t.Parallel()
	objects := strings.NewReplacer("name: app, image: web:1", "name: web, image: web:1", "name: shop}, ", "name: shop, labels: {tier: front}}, ").Replace(documented) + `
% create {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.samplecontroller.k8s.io}, spec: {group: samplecontroller.k8s.io, scope: Namespaced, names: {kind: Foo, plural: foos, singular: foo}, versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}, deploymentName: {type: string}}}}}}}]}}
% set deployments web spec.template.spec.terminationGracePeriodSeconds 7
% pass 1m
`
	tried := 0
	root := cmd.NewRootCommand("", genericiooptions.NewTestIOStreamsDiscard())
	var try func(*cobra.Command)
	try = func(command *cobra.Command) {
		examples := commandsIn(commentLine.ReplaceAllString(command.Example, ""))
		if len(examples) == 0 || command == root && len(examples) != 3 || command.Short == "" || strings.HasSuffix(command.Short, ".") {
			t.Errorf("%s: %d examples (want some, root: 3), description %q (want one without full stop)", command.CommandPath(), len(examples), command.Short)
		}
		for _, words := range examples {
			verb, _, _ := root.Find(words)
			if command != root && verb != command && verb.Parent() != command {
				t.Errorf("%s: an example runs a different command, %s", command.CommandPath(), verb.CommandPath())
			}
			if _, err := parse(words); err != nil {
				t.Errorf("%s: invalid example %q: %v", command.CommandPath(), words, err)
			}
		}
		block := inShell.ReplaceAllString(command.Example, "")
		t.Run(command.CommandPath(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) { tried += tryBlock(t, objects, false, block) })
		})
		for _, below := range command.Commands() {
			try(below)
		}
	}
	try(root)
	if tried < 50 {
		t.Errorf("ran only %d examples, want at least 50", tried)
	}
}

// tryBlock creates the objects, runs the commands of a block, and returns how many it ran. It skips a console
// block if one command matches elsewhereRun, because later commands need earlier ones.
func tryBlock(t *testing.T, objects string, console bool, block string) (tried int) {
	if console && elsewhereRun.MatchString(block) {
		return 0
	}
	stage := newStage(t)
	for line := range strings.Lines(strings.ReplaceAll(strings.TrimSpace(objects), "\n\n", "\n")) {
		stage.follow(strings.TrimSpace(line))
	}
	if strings.Contains(block, "create foo") {
		stage.Remove("imoocpods", "default", "foo")
	}
	lines := strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n")
	for i, line := range lines {
		typed, prompt := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		command, comment, _ := strings.Cut(typed, " #")
		args, is := strings.CutPrefix(strings.TrimSpace(command), "kubectl imoocpod ")
		if !is || console != prompt || elsewhereRun.MatchString(strings.TrimSpace(command)) {
			continue
		}
		tried++
		var shown []string
		for _, next := range lines[i+1:] {
			if !console || strings.HasPrefix(next, "$ ") {
				break
			}
			shown = append(shown, next)
		}
		r := runWords(t.Context(), stage.Connect, shellWords(args))
		fails := slices.ContainsFunc(shown, func(s string) bool { return strings.HasPrefix(s, "error:") }) || strings.Contains(comment, "exits with")
		if fails != (r.code != exitDone) {
			t.Errorf("%s: unexpected exit code %d; output:\n%s%s", command, r.code, r.stdout, r.stderr)
		}
		for _, want := range shown {
			if !strings.Contains(want, "(y/N)") && !pattern(want).MatchString(r.stdout+r.stderr) {
				t.Errorf("%s: no line %q in the output:\n%s%s", command, want, r.stdout, r.stderr)
			}
		}
		<-time.After(time.Second)
	}
	return tried
}

func shellWords(line string) []string {
	words := shellWord.FindAllString(line, -1)
	for i, word := range words {
		if words[i] = strings.ReplaceAll(word, "'", ""); words[i] == word {
			words[i] = strings.ReplaceAll(word, `"`, "")
		}
	}
	return words
}

var varies = regexp.MustCompile(`…|\b\d+[smhd]\b|\b\d\d:\d\d\b|alice| +`)

// pattern returns a regular expression for a line of a page. In place of text that varies, it matches anything.
func pattern(line string) *regexp.Regexp {
	var text strings.Builder
	at := 0
	for _, m := range varies.FindAllStringIndex(line, -1) {
		text.WriteString(regexp.QuoteMeta(line[at:m[0]]))
		at = m[1]
		if line[m[0]] == ' ' {
			text.WriteString(" +")
		} else {
			text.WriteString(".*")
		}
	}
	return regexp.MustCompile("(?m)^" + text.String() + regexp.QuoteMeta(line[at:]) + " *$")
}
