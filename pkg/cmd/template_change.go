package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// changeTemplate changes the fields that define the pods of a target. The change cause ends with the note and --reason.
func (c *changer) changeTemplate(
	ctx context.Context, t *observe.Target, want template.Wanted, note string,
) (*change, error) {
	if c.flags.waits() && t.Kind.BuiltIn() && !t.Kind.RollsOut() {
		return nil, fmt.Errorf("cannot wait for %s: %w", t, podtemplate.ErrNoRollOut)
	}
	c.warnPaused(t)
	before, err := c.readBefore(ctx, t)
	if err != nil {
		return nil, err
	}
	c.loops.begin(t)
	cause := func(change string) string { return strings.TrimSuffix(change+note+": "+c.flags.reason, ": ") }
	done, err := template.Write(ctx, t.Resource(c.Dynamic), *t, want, cause, c.user(), c.edits())
	if unknownField(err) {
		_, words, _ := strings.Cut(err.Error(), "strict decoding error: ")
		err = fmt.Errorf("%s: %s", t, words)
	}
	if err != nil {
		return nil, err
	}
	t.Object = done.Object
	until := observe.Ready()
	if c.waits {
		until = template.RolledOut(ctx, c.Dynamic, *t, before.Pods, done)
	}
	made := c.edited(t, done.Written, until, revision.Change(done.After, done.Before), func(ctx context.Context) []fieldpath.Edit {
		return append(template.Annotations(revision.Change(done.After, done.Before)+" (undo)", c.user()), template.MarkFailed(ctx, c.Dynamic, *t, done)...)
	})
	if done.Change == "" {
		made.unchanged = true
		return made, nil
	}
	made.said, made.template = done.Change, true
	_, changed := done.Changed()
	for _, warning := range revision.Overwriters(t.Object, changed) {
		c.printErrf("Warning: %s: %s", t, warning)
	}
	if c.flags.dryRun != "none" {
		return made, printer.DiffYAML(c.streams.ErrOut, t.String(), t.String()+" (dry run)", revision.Object(done.Before), revision.Object(done.After))
	}
	if stuck := c.stuckPods(ctx, made); stuck != nil {
		made.notes = []string{"hint: " + stuckHint + ": " + c.line(*stuck)}
	}
	if c.waits && before.Verdict.Settled() {
		made.back = new(commandOn("undo", t))
	}
	return made, nil
}
