// Command reference generates the command reference in docs/commands from the commands. "make generate" runs it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
)

func main() {
	if err := generate("docs/commands"); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	// Remove all pages, including the pages of removed commands.
	old, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	root := cmd.NewRootCommand("", genericiooptions.NewTestIOStreamsDiscard())
	root.DisableAutoGenTag = true                                             // a date would change with each run
	root.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache" // not the user's home directory
	return doc.GenMarkdownTree(root, dir)
}
