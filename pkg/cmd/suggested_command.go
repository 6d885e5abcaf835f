package cmd

import (
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
)

// argumentOf is the target as it is written on a command line.
func argumentOf(t observe.Target) string {
	if t.Kind.Shipped() && t.Kind.Singular == "imoocpod" {
		return t.Name
	}
	return t.Kind.CRD() + "/" + t.Name
}

// inNamespaceOf is the flag for the namespace of a target, after a space.
func inNamespaceOf(t observe.Target) string {
	if t.Namespace == "" {
		return ""
	}
	return " -n " + t.Namespace
}
