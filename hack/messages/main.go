// Command messages prints every user-facing text of the program, by source file, for review.
// "make messages" runs it.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const header = `# Messages

Every text of the program that can reach a person: help, errors, hints, warnings, events, conditions and log lines, by
the file that it comes from.
`

func main() {
	if err := list(os.Stdout, "cmd", "pkg"); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// list writes the texts of all Go files below the roots as Markdown.
func list(out io.Writer, roots ...string) error {
	var b strings.Builder
	b.WriteString(header)
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !program(path) {
				return err
			}
			texts, err := textsOf(path)
			if err != nil || len(texts) == 0 {
				return err
			}
			fmt.Fprintf(&b, "\n## %s\n\n", filepath.ToSlash(path))
			for _, text := range texts {
				b.WriteString(block(text))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// program reports whether a file is part of the program. Packages whose names end in "test" are
// not, because only tests use them.
func program(path string) bool {
	return !strings.HasSuffix(filepath.Dir(path), "test") && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
}

// textsOf returns the texts of a file without duplicates, in order.
func textsOf(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []string
	add := func(text string) {
		if text = strings.TrimSpace(text); isProse(text) && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.CallExpr:
			if matches(n) {
				return false
			}
			if text, is := command(n); is && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		case *ast.BinaryExpr:
			if text, whole := joined(n); whole {
				add(text)
				return false
			}
		case *ast.BasicLit:
			if text, is := literal(n); is {
				add(text)
			}
		}
		return true
	})
	return texts, nil
}

// matches reports whether a call only searches for its arguments in a text, or cuts them from a text.
func matches(call *ast.CallExpr) bool {
	function, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return false
	}
	pkg, is := function.X.(*ast.Ident)
	return is && pkg.Name == "strings" && slices.Contains([]string{
		"Contains", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "HasPrefix", "HasSuffix", "Index", "LastIndex", "TrimPrefix", "TrimSuffix",
	}, function.Sel.Name)
}

// command returns the text of a composed command for users to paste. Each word that is not a
// literal becomes an ellipsis. Words that are appended later are missing.
func command(call *ast.CallExpr) (text string, is bool) {
	function, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return "", false
	}
	pkg, is := function.X.(*ast.Ident)
	tool := map[string]string{"Plugin": "kubectl imoocpod", "Kubectl": "kubectl"}[function.Sel.Name]
	if !is || pkg.Name != "commandline" || tool == "" {
		return "", false
	}
	for _, arg := range call.Args {
		word, whole := joined(arg)
		if !whole {
			word = "…"
		}
		tool += " " + word
	}
	return tool, true
}

// joined returns the text of concatenated literals, with an ellipsis for other operands. whole is
// false if there is no literal.
func joined(n ast.Expr) (text string, whole bool) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return joined(n.X)
	case *ast.BasicLit:
		return literal(n)
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			return "", false
		}
		left, isLeft := joined(n.X)
		right, isRight := joined(n.Y)
		if !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = "…"
		}
		if !isRight {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}

func literal(n *ast.BasicLit) (string, bool) {
	if n.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(n.Value)
	return text, err == nil
}

// words matches prose: two words with a space between them, unlike names, paths, and formats.
var words = regexp.MustCompile(`[A-Za-z]{2,}[,;:]? [a-z%"(-]`)

// isProse reports whether a text is prose and not a cobra template.
func isProse(text string) bool { return words.MatchString(text) && !strings.Contains(text, "{{") }

func block(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n\n"
}
