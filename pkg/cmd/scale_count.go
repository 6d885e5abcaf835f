package cmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

type located struct {
	target *observe.Target
	field  discover.Field
}

// locate finds the replica field of an object. It also reads the object for a change through /scale, a client-side
// dry run, or an undo. If that read is forbidden, only an undo fails, because some users can only write to /scale.
func (o *scaleOptions) locate(ctx context.Context, c *changer, t *observe.Target) (*located, error) {
	err := o.count.Check(*t)
	if err != nil {
		return nil, err
	}
	t.Path = o.path
	if o.group != "" {
		if t.Path, err = o.groupPath(ctx, c, t); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
	}
	if !t.Kind.Shipped() && t.Path == nil {
		// The current values help the user to choose a field. For a shipped kind, Find needs no request.
		if err := t.Read(ctx, c.Dynamic); err != nil {
			return nil, err
		}
	}
	field, err := c.Finder.Find(ctx, t.Kind, t.Object, t.Path)
	switch {
	case errors.Is(err, discover.ErrPerNode):
		return nil, perNode(ctx, c, t)
	case err != nil:
		return nil, c.chooseField(err, "scale", t, o.countFlags()...)
	}
	c.loops.begin(t)
	if field.Scale || o.change.dryRun.client() || o.count.Undo {
		if err := t.Read(ctx, c.Dynamic); err != nil && (!apierrors.IsForbidden(err) || o.count.Undo) {
			return nil, err
		}
	}
	return &located{target: t, field: field}, replicas.Refuse(*t, t.Object)
}

// groupPath reads the target and returns the path of the replica field that --group selects.
func (o *scaleOptions) groupPath(ctx context.Context, c *changer, t *observe.Target) (*fieldpath.Path, error) {
	if err := t.Read(ctx, c.Dynamic); err != nil {
		return nil, err
	}
	schema, err := c.Finder.Schema(t.Kind)
	if err != nil {
		return nil, err
	}
	path, err := candidates.Group(candidates.Fields(schema, t.Object.Object), o.group)
	return &path, err
}

func (o *scaleOptions) countFlags() []string {
	switch {
	case o.count.By != nil:
		return []string{"--by", o.count.By.String()}
	case o.count.Undo:
		return []string{"--undo"}
	}
	return []string{"--replicas", strconv.Itoa(int(o.count.Replicas))}
}

// perNode returns the error for an object that runs one pod per node, with the desired number of pods if it is known.
func perNode(ctx context.Context, c *changer, t *observe.Target) error {
	obj, err := t.Resource(c.Dynamic).Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	now := ""
	if n, found, err := unstructured.NestedInt64(obj.Object, t.Kind.Mapping.Status.Desired...); err == nil && found {
		now = fmt.Sprintf(" (%d now)", n)
	}
	return fmt.Errorf("%s cannot be scaled: it runs one pod per node%s", t, now)
}

// otherCounts describes the replica counts of an object except the count in field, or returns "" if none is known.
func otherCounts(ctx context.Context, c *changer, t *observe.Target, field discover.Field) string {
	known, err := observe.StatusFacts(ctx, c.Finder, t.Kind, field.Path)
	if err != nil {
		return ""
	}
	var words []string
	for _, other := range known.OtherCounts {
		path, _ := fieldpath.ParseSteps(other) // the path of a field in the schema
		if n, found, err := path.Get(t.Object.Object); found && err == nil {
			words = append(words, fmt.Sprintf("%s = %d", other, n))
		}
	}
	switch {
	case len(words) == 0:
		return ""
	case known.Unit != "pod":
		return fmt.Sprintf(", counted in %ss, each with %s", known.Unit, strings.Join(words, ", "))
	}
	return "; other counts: " + strings.Join(words, ", ")
}

// request returns the requested change of one object. With --undo, the request has the previous count.
func (o *scaleOptions) request(l *located) (replicas.Request, error) {
	request := o.count
	request.Exact = o.change.reverts()
	var err error
	if request.Undo && l.field.Path != nil {
		request.Replicas, err = replicas.Undone(*l.target, l.target.Object, *l.field.Path)
	}
	return request, err
}

func (o *scaleOptions) scale(ctx context.Context, c *changer, l *located) (*change, error) {
	request, err := o.request(l)
	if err != nil {
		return nil, err
	}
	t := l.target
	c.warnPaused(t)
	if o.change.waits() || !t.Kind.Shipped() {
		c.warnOfCompetitors(ctx, t, func(now int64) (int32, error) { return request.From(*t, now) })
	}
	done, err := o.set(ctx, c, l, request)
	if err != nil {
		return nil, err
	}
	made := o.changed(c, l, done)
	if made.object, err = o.result(ctx, c, l, done); err != nil {
		return nil, err
	}
	if o.steps.given() && done.Before != nil {
		counts, err := replicas.Steps(*done.Before, done.Replicas, *o.steps.step)
		if err != nil {
			return nil, fmt.Errorf("scale %s: %w", t, err)
		}
		o.printPlan(c, t, *done.Before, counts)
		if err := o.mayStep(ctx, c, t, *done.Before, counts...); err != nil {
			return nil, err
		}
	}
	made.said = done.String()
	if named := l.field.String(); named != ".spec.replicas" && !t.Kind.Shipped() && o.path == nil {
		made.notes = []string{fmt.Sprintf("%s: replica field %s%s", t, named, otherCounts(ctx, c, t, l.field))}
	}
	return made, nil
}

func (o *scaleOptions) set(ctx context.Context, c *changer, l *located, request replicas.Request) (replicas.Result, error) {
	request.Options = c.edits()
	if len(request.Remove) > 0 {
		return replicas.Remove(ctx, c.Dynamic, c.Core, *l.target, l.field, request)
	}
	done, err := replicas.Set(ctx, l.target.Resource(c.Dynamic), *l.target, l.field, request)
	if unknownField(err) && l.field.Path != nil {
		schema, _ := c.Finder.Schema(l.target.Kind) // only for suggestions
		err = noField(l.target, *l.field.Path, schema)
	}
	return done, err
}

// result returns the object to print. It contains only the name if no more is printed, except in a client-side dry run.
func (o *scaleOptions) result(ctx context.Context, c *changer, l *located, done replicas.Result) (*unstructured.Unstructured, error) {
	t := l.target
	if format := o.change.print.format(); (format == "" || format == "name") && !o.change.dryRun.client() {
		return nameOnly(*t), nil
	}
	if done.Object != nil {
		return done.Object, nil
	}
	obj, err := t.Resource(c.Dynamic).Get(ctx, t.Name, metav1.GetOptions{})
	if err == nil && o.change.dryRun != "none" && l.field.Path != nil {
		err = l.field.Path.Set(obj.Object, int64(done.Replicas))
	}
	return obj, err
}

// changed converts the result of a request into a change, with the condition to wait for.
func (o *scaleOptions) changed(c *changer, l *located, done replicas.Result) *change {
	made := &change{WaitTarget: observe.WaitTarget{
		Target: *l.target, UID: done.UID, Check: done.Check,
		Conditions: []observe.Condition{observe.Scaled(done.Replicas, len(done.Fields) > 0)},
	}}
	was := "not set"
	switch {
	case done.Before != nil && *done.Before != done.Replicas:
		was, made.back = strconv.Itoa(int(*done.Before)), new(o.command(l, *done.Before))
	case done.Before != nil || done.Object == nil:
		return made
	}
	made.revert = func(ctx context.Context) (string, error) {
		err := replicas.Revert(ctx, l.target.Resource(c.Dynamic), *l.target, l.field, done, c.edits())
		return fmt.Sprintf("%d → %s", done.Replicas, was), err
	}
	return made
}

func (o *scaleOptions) command(l *located, replicas int32, flags ...string) commandline.Command {
	command := commandline.Plugin("scale", l.target.Kind.CRD()+"/"+l.target.Name).In(l.target.Namespace).With("--replicas", strconv.Itoa(int(replicas)))
	if path := l.target.Path; path != nil {
		command = command.With("--replicas-path", path.String())
	}
	return command.With(flags...)
}
