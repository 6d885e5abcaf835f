package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// goal is what is waited for.
type goal struct {
	// what completes "wait for foo …", such as "to be ready", and done "2 of 3
	// objects are …".
	what, done string
	// below says that what stands below the object decides on it, too.
	below bool
	// fails says that an object which has failed will not come to it.
	fails bool
	// counts says that the number of pods is all that matters: an object may come to
	// it while a new template waits for somebody.
	counts bool
	// met says of a sight whether it is what is waited for. An error ends the
	// wait: it will not come any more.
	met func(ctx context.Context, s sight) (bool, error)
}

// ready is the goal that the verdict on an object is "ready".
func ready() goal {
	return goal{what: "to be ready", done: "ready", below: true, fails: true, met: present(func(_ context.Context, s sight) (bool, error) {
		return s.report.Verdict == status.Ready, nil
	})}
}

// scaled is the goal that an object has the count that was written into a field
// of it, and is ready. Another count is another's doing.
func scaled(c *clients, field discover.Field, done written) goal {
	g := ready()
	g.counts = true
	g.met = present(func(ctx context.Context, s sight) (bool, error) {
		now, manager := int64(s.report.Replicas.Desired), ""
		path := field.Path
		if path == nil {
			path = s.kind.Path()
		}
		if path != nil {
			n, found, err := path.Get(s.obj.Object)
			if err != nil {
				return false, err
			}
			if manager, _ = path.Manager(s.obj); found {
				now = n
			}
		}
		if now != int64(done.replicas) {
			return false, reverted(ctx, c, s.target, done.replicas, now, manager)
		}
		r := s.report.Replicas
		waits := s.report.Verdict == status.Paused && s.report.Counts && r.Current == r.Desired && r.Ready == r.Desired
		return s.report.Verdict == status.Ready || waits, nil
	})
	return g
}

// replaced is the goal that none of some pods is left, and that the object is
// ready without them. Of an annotation beside the pod template no generation
// tells whether the controller has seen it; the pods do.
func replaced(old []status.Pod) goal {
	g := ready()
	g.what, g.done = "to have new pods", "ready with new pods"
	g.met = present(func(_ context.Context, s sight) (bool, error) {
		left := slices.ContainsFunc(s.report.Pods, func(pod status.Pod) bool {
			return slices.ContainsFunc(old, func(o status.Pod) bool { return o.UID == pod.UID })
		})
		// New pods are a proof that the controller has seen the change.
		return !left && (s.report.Verdict == status.Ready || s.report.ReasonCode == status.CodeChangeNotSeen), nil
	})
	return g
}

// reverted says who set another count than was written, and who may have had it
// set.
func reverted(ctx context.Context, c *clients, t target, wrote int32, now int64, manager string) error {
	who := "another"
	if manager != "" {
		who = fmt.Sprintf("the field manager %q", manager)
	}
	var hint strings.Builder
	if report, err := lookForWarnings(ctx, c, t); err == nil {
		for _, r := range report.Reverts {
			hint.WriteString("\nhint: " + escape.Line(r.Message))
		}
	}
	return fmt.Errorf("%w: %s was scaled to %d, and %s set it to %d%s", ErrReverted, t, wrote, who, now, hint.String())
}

// gone is the goal that an object is not there any more.
func gone() goal {
	return goal{what: "to be gone", done: "gone", met: func(_ context.Context, s sight) (bool, error) { return s.obj == nil, nil }}
}

// created is the goal that there is such an object.
func created() goal {
	return goal{what: "to be created", done: "there", met: func(_ context.Context, s sight) (bool, error) { return s.obj != nil, nil }}
}

// present makes of a question about an object one that ends the wait when there
// is no object.
func present(met func(context.Context, sight) (bool, error)) func(context.Context, sight) (bool, error) {
	seen := false
	return func(ctx context.Context, s sight) (bool, error) {
		switch {
		case s.obj != nil:
			seen = true
			return met(ctx, s)
		case seen:
			return false, fmt.Errorf("%s was %w while it was waited for", s.target, ErrGone)
		}
		return false, apierrors.NewNotFound(s.kind.Resource.GroupResource(), s.name)
	}
}

// parseGoal reads a --for as "kubectl wait" takes it, and ready. What it returns
// makes the goal anew for each object.
func parseGoal(word string) (func() goal, error) {
	lower := strings.ToLower(word)
	if condition, is := strings.CutPrefix(word, "condition="); is {
		name, value, given := strings.Cut(condition, "=")
		if !given {
			value = "true"
		}
		return func() goal { return conditionIs(name, value) }, nil
	}
	if expression, is := strings.CutPrefix(word, "jsonpath="); is {
		return parsePathGoal(expression)
	}
	for name, g := range map[string]func() goal{"ready": ready, "delete": gone, "create": created} {
		if lower == name {
			return g, nil
		}
	}
	return nil, fmt.Errorf("%q is nothing to wait for: must be ready, create, delete, condition=NAME[=VALUE] or jsonpath=EXPRESSION[=VALUE]", word)
}

// conditionIs is the goal that a condition of an object has a value, and is not
// older than the object's last change.
func conditionIs(name, value string) goal {
	what := "to have the condition " + name
	if !strings.EqualFold(value, "true") {
		what += "=" + value
	}
	return goal{what: what, done: "so", met: present(func(_ context.Context, s sight) (bool, error) {
		list, _, err := unstructured.NestedSlice(s.obj.Object, "status", "conditions")
		if err != nil {
			return false, err
		}
		for _, c := range list {
			c, _ := c.(map[string]any)
			if kind, _ := c["type"].(string); strings.EqualFold(kind, name) {
				now, _ := c["status"].(string)
				return strings.EqualFold(now, value) && !stale(s.obj, c), nil
			}
		}
		return false, nil
	})}
}

// stale reports whether a condition, or the status that it is in, is of an older
// generation than the object.
func stale(obj *unstructured.Unstructured, condition map[string]any) bool {
	seen, found := condition["observedGeneration"].(int64)
	if !found {
		var err error
		if seen, found, err = unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); err != nil {
			return false
		}
	}
	return found && seen < obj.GetGeneration()
}

// parsePathGoal reads EXPRESSION[=VALUE]: the goal that what the JSONPath
// expression finds in an object has the value, or is there at all.
func parsePathGoal(word string) (func() goal, error) {
	expression, err := fieldpath.ParseExpression(word)
	if err != nil {
		return nil, err
	}
	return func() goal {
		return goal{what: "to have " + expression.String(), done: "so", met: present(func(_ context.Context, s sight) (bool, error) {
			return expression.Holds(s.obj.Object)
		})}
	}, nil
}
