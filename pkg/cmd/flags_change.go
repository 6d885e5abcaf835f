package cmd

import (
	"github.com/imoocpod/kubectl-imoocpod/pkg/replicafield"
)

// changeFlag is the value of --by.
type changeFlag struct {
	change **replicafield.CountChange
}

// Set takes a value from the command line.
func (f changeFlag) Set(word string) error {
	change, err := replicafield.ParseCountChange(word)
	if err != nil {
		return err
	}
	*f.change = &change
	return nil
}

// String returns the value.
func (f changeFlag) String() string {
	if f.change == nil || *f.change == nil {
		return ""
	}
	return (*f.change).String()
}

// Type names the kind of value in help texts.
func (f changeFlag) Type() string { return "change" }
