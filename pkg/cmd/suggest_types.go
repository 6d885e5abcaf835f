package cmd

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// suggestTypes makes the errors of a verb about unknown types name the nearest types
// of the server.
func suggestTypes(c *kube.Factory, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		all := outcome.Errors{err}
		errors.As(err, &all)
		for _, err := range all {
			var unknown *outcome.UnknownTypeError
			if errors.As(err, &unknown) {
				unknown.Nearest = nearestTo(unknown.Type, typeNames(c))
			}
		}
		return err
	}
}

// typeNames are the singular names of the types of the server that have replicas or
// could have, each once.
func typeNames(c *kube.Factory) []string {
	all := kinds.Shipped()
	if finder, err := c.Finder(); err == nil {
		served, _ := finder.Kinds() // what could be read is better than nothing
		all = append(all, served...)
	}
	names := make([]string, 0, len(all))
	for _, kind := range all {
		names = append(names, kind.Singular)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
