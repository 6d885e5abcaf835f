package cmd

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// dryRun is kubectl's --dry-run: none, client or server.
type dryRun string

func (d *dryRun) addFlag(cmd *cobra.Command) {
	*d = "none"
	addChoice(cmd, d, "dry-run", `Must be %s. If client strategy, only print the object that would be sent, without sending it. If server strategy, submit server-side request without persisting the resource.`, "none", "server", "client")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
}

func (d *dryRun) client() bool { return *d == "client" }

// server is what to put into the options of a write request.
func (d *dryRun) server() []string {
	if *d == "server" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// mark makes a success message say that nothing was kept.
func (d *dryRun) mark(message string) string {
	switch *d {
	case "client":
		return message + " (dry run)"
	case "server":
		return message + " (server dry run)"
	}
	return message
}

// complete makes the success message say that nothing was kept.
func (d *dryRun) complete(flags *genericclioptions.PrintFlags) {
	flags.NamePrintFlags.Operation = d.mark(flags.NamePrintFlags.Operation)
}
