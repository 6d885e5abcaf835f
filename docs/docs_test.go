// Package docs tests the documents of this project, for example their links and command lines. It also
// tests the imports of packages, and the wording of comments and messages.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
)

const root = ".."

// files lists the files below the root except .git, bin, and dist, as relative paths with slashes.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, path):
			return fs.SkipDir
		case !d.IsDir():
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// document is a Markdown file, split into prose and code blocks.
type document struct {
	path   string
	prose  string
	blocks []block
}

type block struct{ language, text string }

var fenced = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```$")

// documents returns the documents that are not generated from the code.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	for _, path := range files(t) {
		if !strings.HasSuffix(path, ".md") || strings.HasPrefix(path, "docs/commands/") {
			continue
		}
		d := document{path: path, prose: read(t, path)}
		for _, m := range fenced.FindAllStringSubmatch(d.prose, -1) {
			d.blocks = append(d.blocks, block{language: m[1], text: m[2]})
		}
		d.prose = fenced.ReplaceAllString(d.prose, "")
		all = append(all, d)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	inline   = regexp.MustCompile("`([^`\n]+)`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	unslug   = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	testName = regexp.MustCompile(`\bTest[A-Z]\w*…?`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	fileName = regexp.MustCompile(`^[\w./-]+\.(go|md|ya?ml|sh|json|mod|tsv)$`)
	dirName  = regexp.MustCompile(`^\.?/?(cmd|pkg|deploy|test|docs|plugins)/[\w./-]*$`)
	target   = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	flagName = regexp.MustCompile(`(?:^|\s)(--?[a-zA-Z][\w-]*)`)
)

// spans returns the pieces of inline code in a text.
func spans(text string) []string {
	var all []string
	for _, m := range inline.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestLinks(t *testing.T) {
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(d.prose, -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			path := d.path
			if to != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(d.path), to))
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", d.path, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, path)), anchor) {
				t.Errorf("%s links to %s, but %s has no such heading", d.path, m[1], path)
			}
		}
	}
}

// anchors returns the link anchors that GitHub generates for the headings of a document.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		slug := unslug.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}

// TestIndex checks that README.md in docs and in docs/adr links to each document of the same directory.
func TestIndex(t *testing.T) {
	for _, directory := range []string{"docs", "docs/adr"} {
		index := read(t, directory+"/README.md")
		for _, d := range documents(t) {
			if name := filepath.Base(d.path); filepath.Dir(d.path) == directory && name != "README.md" && !strings.Contains(index, "]("+name+")") {
				t.Errorf("%s/README.md has no link to %s", directory, name)
			}
		}
	}
}

func TestNamedTestsExist(t *testing.T) {
	var names []string
	for _, path := range files(t) {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(read(t, path), -1) {
				names = append(names, m[1])
			}
		}
	}
	for _, d := range documents(t) {
		text := d.prose
		for _, b := range d.blocks {
			text += b.text
		}
		for _, name := range testName.FindAllString(text, -1) {
			prefix, several := strings.CutSuffix(name, "…")
			if !slices.ContainsFunc(names, func(n string) bool { return n == name || several && strings.HasPrefix(n, prefix) }) {
				t.Errorf("%s names the test %s, which does not exist", d.path, name)
			}
		}
	}
}

// TestNamedFilesExist checks that files and directories named in documents exist. Documents may omit
// leading path elements.
func TestNamedFilesExist(t *testing.T) {
	all := files(t)
	for _, d := range documents(t) {
		for _, span := range spans(d.prose) {
			if !fileName.MatchString(span) && !dirName.MatchString(span) || slices.Contains(elsewhere(), span) {
				continue
			}
			name := "/" + strings.Trim(strings.TrimPrefix(span, "./"), "/")
			if !slices.ContainsFunc(all, func(path string) bool {
				path = "/" + path
				return strings.HasSuffix(path, name) || strings.Contains(path, name+"/")
			}) {
				t.Errorf("%s names the file or directory %s, which does not exist", d.path, span)
			}
		}
	}
}

// TestDiagram checks that each file or directory in the diagram of the loop declares the names next to it.
func TestDiagram(t *testing.T) {
	_, picture, _ := strings.Cut(read(t, "docs/how-it-works.md"), "```\n")
	picture, _, _ = strings.Cut(picture, "```")
	named := regexp.MustCompile(`((?:\w+/)?\w+\.go|plan/): (\w+(?:, \w+)*)`).FindAllStringSubmatch(picture, -1)
	if len(named) == 0 {
		t.Error("docs/how-it-works.md has no diagram with names of code")
	}
	for _, m := range named {
		var code strings.Builder
		for _, path := range files(t) {
			if strings.HasPrefix(path, "pkg/controller/"+m[1]) {
				code.WriteString(read(t, path))
			}
		}
		for name := range strings.SplitSeq(m[2], ", ") {
			if !regexp.MustCompile(`(?m)^(type|func|func \(.*?\)) ` + name + `\b`).MatchString(code.String()) {
				t.Errorf("the diagram in docs/how-it-works.md has %s in %s, which does not declare it", name, m[1])
			}
		}
	}
}

// elsewhere returns the files that the documents mention but that are not in this repository: files of the
// tutorials, and a manifest that the first release adds.
func elsewhere() []string {
	return []string{
		"types.go", "hack/update-codegen.sh", "plugins/imoocpod.yaml",
	}
}

func TestNamedTargetsExist(t *testing.T) {
	// In the Makefile, a variable stands for bin/cluster. The other targets are in projects that kubebuilder generates.
	targets := []string{"manifests", "install", "run", "docker-build", "docker-push", "deploy", "undeploy", "uninstall", "bin/cluster"}
	for _, m := range target.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets = append(targets, m[1])
	}
	for _, d := range documents(t) {
		lines := spans(d.prose)
		for _, b := range d.blocks {
			lines = append(lines, commandLines(b)...)
		}
		for _, line := range lines {
			words := split(strings.TrimSuffix(strings.TrimPrefix(line, `eval "$(`), `)"`))
			if len(words) < 2 || words[0] != "make" {
				continue
			}
			for _, word := range words[1:] {
				if !strings.ContainsAny(word, "=$-…") && !slices.Contains(targets, word) {
					t.Errorf("%s has the command %q, which names a missing target of make", d.path, line)
				}
			}
		}
	}
}

// TestCommandLines parses each "kubectl imoocpod" command line in a code block, as the program would.
func TestCommandLines(t *testing.T) {
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			for _, line := range commandLines(b) {
				words := split(line)
				if len(words) < 2 || words[0] != "kubectl" || words[1] != "imoocpod" {
					continue
				}
				tree := commands()
				verb, args, err := tree.Find(words[2:])
				if err == nil {
					err = verb.ParseFlags(args)
				}
				if err == nil {
					err = verb.ValidateArgs(verb.Flags().Args())
				}
				if err != nil {
					t.Errorf("%s has the invalid command %q: %v", d.path, line, err)
				}
			}
		}
	}
}

// TestNamedFlagsExist checks the flags in inline code that starts with a verb or a flag. If the code names a
// verb, that verb must have the flags. Otherwise, at least one verb must have each flag.
func TestNamedFlagsExist(t *testing.T) {
	tree := commands()
	for _, d := range documents(t) {
		for _, span := range spans(d.prose) {
			words := strings.Fields(strings.TrimPrefix(span, "kubectl imoocpod "))
			verbs := below(tree)
			switch verb, _, err := tree.Find(words); {
			case strings.HasPrefix(span, "-"):
			case err != nil || verb == tree:
				continue // not a command line of this program
			default:
				verbs = []*cobra.Command{verb}
			}
			for _, m := range flagName.FindAllStringSubmatch(strings.Join(words, " "), -1) {
				if !slices.ContainsFunc(verbs, func(verb *cobra.Command) bool { return hasFlag(verb, m[1]) }) && !slices.Contains(otherFlags(), m[1]) {
					t.Errorf("%s has the code %q, but the flag %s does not exist", d.path, span, m[1])
				}
			}
		}
	}
}

// below returns the direct and indirect subcommands of cmd.
func below(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		all = append(append(all, c), below(c)...)
	}
	return all
}

// otherFlags returns the flags of other programs that the documents mention without a command.
func otherFlags() []string {
	return []string{"--shutdown-watch-termination-grace-period"}
}

func hasFlag(verb *cobra.Command, flag string) bool {
	verb.InitDefaultHelpFlag()
	name, long := strings.CutPrefix(flag, "--")
	for _, set := range []*pflag.FlagSet{verb.Flags(), verb.InheritedFlags()} {
		if long && set.Lookup(name) != nil || !long && len(flag) == 2 && set.ShorthandLookup(flag[1:]) != nil {
			return true
		}
	}
	return false
}

// TestNamedMessagesExist checks that the code contains the messages in the first column of
// troubleshooting.md. It looks for the pieces around "…" separately.
func TestNamedMessagesExist(t *testing.T) {
	var code strings.Builder
	for _, path := range files(t) {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && strings.Contains(path, "/") {
			code.WriteString(strings.ReplaceAll(read(t, path), `\"`, `"`))
		}
	}
	named := 0
	for line := range strings.Lines(read(t, "docs/troubleshooting.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		for _, message := range spans(cells[1]) {
			named++
			for piece := range strings.SplitSeq(message, "…") {
				if piece = strings.TrimSpace(piece); !strings.Contains(code.String(), piece) {
					t.Errorf("docs/troubleshooting.md has the message %q, but no code contains %q", message, piece)
				}
			}
		}
	}
	if named == 0 {
		t.Error("docs/troubleshooting.md has no table with messages")
	}
}

// TestTranslation checks that README.md contains all commands and outputs in README.zh-CN.md.
func TestTranslation(t *testing.T) {
	var original, translation document
	for _, d := range documents(t) {
		switch d.path {
		case "README.md":
			original = d
		case "README.zh-CN.md":
			translation = d
		}
	}
	if len(translation.blocks) == 0 {
		t.Error("README.zh-CN.md has no code blocks")
	}
	var lines []string
	var outputs []string
	for _, b := range original.blocks {
		lines = append(lines, commandLines(b)...)
		outputs = append(outputs, b.text)
	}
	for _, b := range translation.blocks {
		if b.language == "console" && !slices.Contains(outputs, b.text) {
			t.Errorf("README.zh-CN.md has a block that README.md lacks:\n%s", b.text)
		}
		for _, line := range commandLines(b) {
			if !slices.Contains(lines, line) {
				t.Errorf("README.zh-CN.md has the command %q, which README.md lacks", line)
			}
		}
	}
}

func commands() *cobra.Command {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	return cmd.NewRootCommand("", streams)
}

// commandLines returns the lines of a block that a user types, without comments.
func commandLines(b block) []string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		typed, prompt := strings.CutPrefix(line, "$ ")
		if b.language == "console" && !prompt || b.language != "console" && b.language != "sh" {
			continue
		}
		if before, _, comment := strings.Cut(typed, " #"); comment {
			typed = strings.TrimSpace(before)
		}
		if typed != "" && !strings.HasPrefix(typed, "#") {
			lines = append(lines, typed)
		}
	}
	return lines
}

var (
	shellWord = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^ '"|;&<>])+|[|;&<>]`)
	inQuotes  = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
)

// split returns the words of the first command in a line, as a shell parses them.
func split(line string) []string {
	var words []string
	for _, word := range shellWord.FindAllString(line, -1) {
		if strings.Contains("|;&<>", word) {
			if last := len(words) - 1; last >= 0 && words[last] == "2" { // as in 2>&1
				return words[:last]
			}
			return words
		}
		words = append(words, inQuotes.ReplaceAllString(word, "$1$2"))
	}
	return words
}

// TestTablesHaveTheirColumns checks that each row of a table has as many cells as the header row.
// Otherwise, GitHub renders no table or drops cells.
func TestTablesHaveTheirColumns(t *testing.T) {
	for _, d := range documents(t) {
		columns := 0
		for line := range strings.Lines(d.prose) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			n := strings.Count(line, "|") - strings.Count(line, `\|`) // pipes in code count, too
			if columns == 0 {
				columns = n
			}
			if n != columns {
				t.Errorf("%s: a row has %d cells, want %d: %s", d.path, n-1, columns-1, line)
			}
		}
	}
}
