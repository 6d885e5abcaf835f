package cmd

import (
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// argumentOf is the target as it is written on a command line.
func argumentOf(t observe.Target) string {
	if t.Kind.Shipped() && t.Kind.Singular == "imoocpod" {
		return t.Name
	}
	return t.Kind.CRD() + "/" + t.Name
}

// line is a command to paste, with the flags by which this one reached the cluster.
func (o *commonOptions) line(cmd commandline.Command) string {
	return o.clients.CommandContext().Line(cmd)
}
