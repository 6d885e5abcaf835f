package cmd

import "github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"

// validateUndo refuses what cannot be meant together with --undo.
func (o *scaleOptions) validateUndo() error {
	if !o.change.Undo {
		return nil
	}
	for _, flag := range []string{"replicas", "by", "remove", "reuse", "step"} {
		if o.after.given(flag) {
			return usageErrorf("--undo and --%s cannot be used together", flag)
		}
	}
	return nil
}

// request is the change of one object: with --undo, to the count that it remembers.
func (o *scaleOptions) request(c located) (replicas.Request, error) {
	change := o.change
	if !change.Undo || c.field.Path == nil {
		return change, nil
	}
	var err error
	change.Replicas, err = replicas.Undone(c.target, c.target.Object, *c.field.Path)
	return change, err
}
