// Command reference writes the command reference, docs/commands, from the commands
// themselves: "make generate".
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
	// What a removed command left behind goes.
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
	root.DisableAutoGenTag = true                                             // a date would make each run differ
	root.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache" // not that of who runs this
	return doc.GenMarkdownTree(root, dir)
}
