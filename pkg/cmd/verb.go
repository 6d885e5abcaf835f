package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// verb is what a command does. Its flags have set its options already.
type verb interface {
	// complete takes the arguments, and makes of options what they stand for.
	complete(args []string) error
	// validate refuses what cannot be meant. Until then no server is asked.
	validate() error
	// Run does what was asked for.
	Run(ctx context.Context) error
}

// bind makes a command do what a verb does. cobra looks at the arguments when all
// flags are read and before it runs anything: by then they are complete and valid.
func bind(cmd *cobra.Command, v verb) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if err := v.complete(args); err != nil {
			return err
		}
		return v.validate()
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return withType(v, v.Run(cmd.Context())) }
	return cmd
}

// withType adds to the error about a bare NAME of which there is no ImoocPod how to name
// an object of another type.
func withType(v verb, err error) error {
	named, is := v.(interface{ bareName() string })
	if !is || named.bareName() == "" || !noImoocPod(err) {
		return err
	}
	return outcome.WithAdvice(err, "a NAME without a type is an ImoocPod; for another type, use TYPE/NAME, such as deployment/"+named.bareName())
}

// noImoocPod reports whether an error says that there is no such ImoocPod, or that the
// server does not know any.
func noImoocPod(err error) bool {
	var answer apierrors.APIStatus
	if missing := (*outcome.NotServedError)(nil); errors.As(err, &missing) {
		return missing.CRD == kinds.ImoocPod().CRD()
	}
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) || answer.Status().Details == nil {
		return false
	}
	of := answer.Status().Details
	return of.Group == kinds.ImoocPod().Resource.Group && of.Kind == kinds.ImoocPod().Resource.Resource
}

// noArgs refuses arguments where a verb takes none.
func noArgs(verb string, args []string) error {
	if len(args) > 0 {
		return usageErrorf("%s %s takes no arguments, got %q", programName, verb, args[0])
	}
	return nil
}
