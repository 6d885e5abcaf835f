package cmd

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// request returns the change of one object. With --undo, it leads to the count that the
// object remembers.
func (o *scaleOptions) request(l *located) (replicas.Request, error) {
	request := o.count
	request.DryRun, request.LookOnly = o.change.dryRun.server(), o.change.dryRun.client()
	var err error
	if request.Undo && l.field.Path != nil {
		request.Replicas, err = replicas.Undone(*l.target, l.target.Object, *l.field.Path)
	}
	return request, err
}

// scale changes the count of one object at once.
func (o *scaleOptions) scale(ctx context.Context, c *changer, l *located) (*change, error) {
	request, err := o.request(l)
	if err != nil {
		return nil, err
	}
	t := l.target
	c.warnPaused(t)
	if o.waits() || !t.Kind.Shipped() {
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
		o.tellPlan(c, t, *done.Before, done.Replicas)
	}
	made.said = done.String()
	if named := l.field.String(); named != ".spec.replicas" && !t.Kind.Shipped() && o.path == nil {
		made.notes = []string{fmt.Sprintf("%s: replica field %s%s", t, named, otherCounts(ctx, c, t, l.field))}
	}
	return made, nil
}

// set sets the count of an object.
func (o *scaleOptions) set(ctx context.Context, c *changer, l *located, request replicas.Request) (replicas.Result, error) {
	field := l.field
	if len(request.Remove) > 0 {
		pods, err := c.clients.Core()
		if err != nil {
			return replicas.Result{}, err
		}
		return replicas.Remove(ctx, c.finder.Dynamic, pods, *l.target, field, request)
	}
	if request.LookOnly && !request.Undo {
		if field.Path == nil {
			return replicas.Result{Replicas: request.Replicas}, nil // the field behind /scale is not known
		}
		field.Scale = false
	}
	done, err := replicas.Set(ctx, l.target.Resource(c.finder.Dynamic), *l.target, field, request)
	if unknownField(err) && field.Path != nil {
		schema, _ := c.finder.Schema(l.target.Kind) // without it no field is suggested
		err = noField(l.target, *field.Path, schema)
	}
	return done, err
}

// result returns the object to print. Only the formats that show more than its name read it.
func (o *scaleOptions) result(ctx context.Context, c *changer, l *located, done replicas.Result) (*unstructured.Unstructured, error) {
	t := l.target
	if format := c.format(); (format == "" || format == "name") && !o.change.dryRun.client() {
		return nameOnly(*t), nil
	}
	if done.Object != nil {
		return done.Object, nil
	}
	obj, err := t.Resource(c.finder.Dynamic).Get(ctx, t.Name, metav1.GetOptions{})
	if err == nil && o.change.dryRun != "none" && l.field.Path != nil {
		err = l.field.Path.Set(obj.Object, int64(done.Replicas))
	}
	return obj, err
}

// changed returns a count that was set, as a change to be waited for.
func (o *scaleOptions) changed(c *changer, l *located, done replicas.Result) *change {
	made := &change{
		WaitTarget: observe.WaitTarget{
			Target: *l.target, UID: done.UID, Since: done.ResourceVersion,
			Conditions: []observe.Condition{observe.Scaled(done.Replicas, len(done.Fields) > 0)},
		},
		written: done.Written,
	}
	if done.Before == nil || *done.Before == done.Replicas {
		return made
	}
	made.back = new(o.command(l, *done.Before))
	made.revert = func(ctx context.Context) (string, error) {
		if done.Object == nil {
			back, err := o.set(ctx, c, l, replicas.Request{Replicas: *done.Before, Current: done.Replicas})
			return back.String(), err
		}
		var forget []fieldpath.Edit // the count that failed is not one to return to
		if l.target.Kind.Reconciled() {
			forget = []fieldpath.Edit{{Path: fieldpath.Fields("metadata", "annotations", apis.AnnotationLastScale)}}
		}
		_, err := edit.Revert(ctx, l.target.Resource(c.finder.Dynamic), done.Written, forget, c.edits())
		return fmt.Sprintf("%d → %d", done.Replicas, *done.Before), err
	}
	return made
}

// command returns the command that sets a count of an object.
func (o *scaleOptions) command(l *located, replicas int32, flags ...string) commandline.Command {
	command := commandline.Plugin("scale", l.target.Kind.CRD()+"/"+l.target.Name).In(l.target.Namespace).With("--replicas", strconv.Itoa(int(replicas)))
	if path := l.target.Path; path != nil {
		command = command.With("--replicas-path", path.String())
	}
	return command.With(flags...)
}
