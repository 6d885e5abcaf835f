package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// No engine is here to build what the Dockerfile says. It is read by Docker's own
// parser and linter, what it copies is copied and what it builds is built, and it
// makes the same of the image as this program.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	const root = "../.."
	content, err := os.ReadFile(root + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range file.Warnings {
		t.Errorf("the parser warns: %s", warning.Short)
	}
	stages, args, err := instructions.Parse(file.AST, linter.New(&linter.Config{
		Warn: func(rule, description, _, message string, _ []parser.Range) {
			t.Errorf("%s: %s (%s)", rule, message, description)
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if len(stages) != 2 || len(args) > 0 || stages[1].BaseName != "scratch" {
		t.Fatalf("the Dockerfile has %d stages and %d arguments before them; the last is from %s", len(stages), len(args), stages[len(stages)-1].BaseName)
	}

	output := filepath.Join(t.TempDir(), "kubectl-imoocpod")
	runStage(t, stages[0], root, output)
	if out, err := exec.Command(output, "version", "--client").Output(); err != nil || string(out) != "Client Version: v1.2.3-test\n" {
		t.Errorf("the program says %q (%v)", out, err)
	}

	var user string
	var entrypoint, copied []string
	for _, command := range stages[1].Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			entrypoint = c.CmdLine
		case *instructions.CopyCommand:
			copied = append(copied, c.From+":"+strings.Join(c.SourcePaths, " ")+" "+c.DestPath)
		default:
			t.Errorf("%s is in the Dockerfile and not in the image that this program makes", command.Name())
		}
	}
	if user != nobody || !slices.Equal(entrypoint, []string{"/kubectl-imoocpod"}) || !slices.Equal(copied, []string{"build:/kubectl-imoocpod /kubectl-imoocpod"}) {
		t.Errorf("the image runs %q as %q, and holds %q", entrypoint, user, copied)
	}
}

// runStage does what the first stage does, but that the program is written to
// output.
func runStage(t *testing.T, stage instructions.Stage, root, output string) {
	t.Helper()
	source, built := t.TempDir(), false
	env := append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	for _, command := range stage.Commands {
		switch c := command.(type) {
		case *instructions.ArgCommand:
			for _, arg := range c.Args {
				env = append(env, arg.Key+"="+arg.ValueString())
			}
		case *instructions.CopyCommand:
			for _, path := range c.SourcePaths {
				copyTo(t, filepath.Join(root, path), filepath.Join(source, c.DestPath), strings.HasSuffix(c.DestPath, "/"))
			}
		case *instructions.RunCommand:
			line := strings.Join(c.CmdLine, " ")
			if !strings.Contains(line, "go build") {
				continue // "go mod download" only makes a layer that is kept
			}
			built = true
			build := exec.Command("sh", "-c", strings.ReplaceAll(line, "-o /kubectl-imoocpod", "-o "+output))
			build.Dir, build.Env = source, append(slices.Clone(env), "VERSION=v1.2.3-test") // as --build-arg
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if !built {
		t.Fatal("the Dockerfile builds nothing")
	}
}

// copyTo copies a file or what is in a directory, as COPY does.
func copyTo(t *testing.T, from, to string, into bool) {
	t.Helper()
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else if err == nil {
		if into {
			to = filepath.Join(to, filepath.Base(from))
		}
		var content []byte
		if content, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
	}
	if err != nil {
		t.Fatalf("COPY %s: %v", from, err)
	}
}
