package cmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// describe sets t.Object to the object that the flags describe. The server adds defaults.
func (o *createOptions) describe(ctx context.Context, c *changer, t *observe.Target) (err error) {
	t.Object = nameOnly(*t)
	if t.Kind.Reconciled() {
		err = t.Kind.PutSpec(t.Object, o.replicas, o.image, o.command)
	} else if o.given("replicas") {
		err = o.putCount(ctx, c, t)
	}
	if err != nil {
		return err
	}
	return o.putFields(c.Finder, t)
}

func (o *createOptions) putCount(ctx context.Context, c *changer, t *observe.Target) error {
	path, err := c.countPath(ctx, "create", t, "--replicas", strconv.Itoa(int(o.replicas)))
	if err != nil {
		return err
	}
	if o.path == nil {
		facts, err := observe.StatusFacts(ctx, c.Finder, t.Kind, path)
		if err == nil && facts.Unit != "pod" && len(facts.OtherCounts) > 0 {
			return usageErrorf("%s has several replica counts: %s (its /scale, a number of %ss) or %s; choose one with --replicas-path",
				t.Kind.CRD(), path, facts.Unit, strings.Join(facts.OtherCounts, " or "))
		}
	}
	return path.Set(t.Object.Object, int64(o.replicas))
}

func (o *createOptions) putFields(finder *discover.Finder, t *observe.Target) error {
	text := func(_ fieldpath.Path, word string) (any, error) { return word, nil }
	if err := putAll(t, "--set-string", o.setString, text); err != nil || len(o.set) == 0 {
		return err
	}
	schema, err := finder.Schema(t.Kind)
	if err != nil {
		return err
	}
	return putAll(t, "--set", o.set, func(path fieldpath.Path, word string) (any, error) { return path.Typed(schema, word) })
}

// putAll sets the field at PATH for each PATH=VALUE of a flag. typed converts the word VALUE to a value of the field.
func putAll(t *observe.Target, flag string, pairs []string, typed func(fieldpath.Path, string) (any, error)) error {
	for _, pair := range pairs {
		path, word, err := fieldpath.ParseSetting(pair)
		var value any
		if err == nil {
			value, err = typed(path, word)
		}
		if err == nil {
			err = path.Set(t.Object.Object, value)
		}
		if err != nil {
			return usageErrorf("%s: %w", flag, err)
		}
	}
	return nil
}

// check rejects flags that do not apply to the kind of a target, and names that are too long.
func (o *createOptions) check(t observe.Target) error {
	kind, m := t.Kind, t.Kind.Mapping
	switch {
	case kind.Reconciled() && o.path != nil:
		return fmt.Errorf("--replicas-path cannot be used for the kind %s, whose replica field is known", kind.Kind)
	case kind.CRD() == kinds.Deployments && o.image != "":
		command := commandline.Kubectl("create", "deployment", t.Name, "--image="+o.image, "--replicas="+strconv.Itoa(int(o.replicas))).In(t.Namespace)
		if len(o.command) > 0 {
			command = command.With("--").With(o.command...)
		}
		return outcome.WithHint(errors.New("--image cannot be used for a Deployment, which needs a selector and labels"), "", command)
	case !kind.Reconciled() && (o.image != "" || len(o.command) > 0):
		return errors.New("--image and a command can only be used for kinds that run-controller reconciles; use --set for other types")
	case o.image != "" && m.TemplatePath == nil && m.ImagePath == nil:
		return fmt.Errorf("--image cannot be used for the kind %s, which always runs %s", kind.Kind, m.Image)
	case len(o.command) > 0 && m.TemplatePath == nil && m.CommandPath == nil:
		return fmt.Errorf("the kind %s runs the command of its image and takes no other", kind.Kind)
	case len(o.command) > 0 && o.image == "" && m.TemplatePath != nil && m.Template == nil:
		return fmt.Errorf("a command for the kind %s requires --image, because the kind has no default template", kind.Kind)
	case o.given("replicas") && m.Strategy.WithoutReplicas():
		return fmt.Errorf("--replicas cannot be used for the kind %s, which runs one pod per node", kind.Kind)
	case kind.Shipped():
		return apis.CheckLength(t.Name)
	}
	return nil
}
