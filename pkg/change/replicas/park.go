package replicas

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// ParkPlan is the planned effect of park or unpark on one object. It has no edits if the object does not change.
type ParkPlan struct {
	edit.Plan
	Before, After int32
	// Kept is the reason why the object does not change, or "" if it changes.
	Kept string
	// By is the user who parked the object, or "" if the user is unknown. Only Unpark sets it.
	By string

	path fieldpath.Path
}

// plan adds the edits to p, and returns it. The new value of the annotation is saved, or "" to remove the annotation.
func (p ParkPlan) plan(saved string) ParkPlan {
	p.Edits = []fieldpath.Edit{{Path: p.path, Value: int64(p.After)}, fieldpath.Annotate(apis.AnnotationParked, saved)}
	return p
}

// ErrNotPods means that the count of an object is not a number of pods, so zero may mean that the count is not set.
var ErrNotPods = errors.New("zero may mean that it is not set")

// Park plans to set the count of an object to zero, and to record the count, the user, and the
// reason. It never overwrites a recorded count. unit is the singular noun for one replica, such as "pod".
func Park(t observe.Target, obj *unstructured.Unstructured, path fieldpath.Path, unit, by, reason string, now time.Time) (ParkPlan, error) {
	switch p, at, err := parked(t, obj); {
	case err != nil:
		return ParkPlan{}, err
	case p != nil && at.String() == path.String():
		return ParkPlan{Kept: "already parked " + p.Story(now)}, nil
	case p != nil:
		return ParkPlan{}, fmt.Errorf("%s cannot be parked: it is parked already, by its count %s", t, at)
	}
	count, err := countAt(t, obj, path)
	if err != nil {
		return ParkPlan{}, err
	}
	if unit != "pod" {
		return ParkPlan{}, fmt.Errorf("%s cannot be parked: %s counts %ss, and %w", t, path, unit, ErrNotPods)
	}
	if count == 0 {
		return ParkPlan{Kept: "already scaled to zero"}, nil
	}
	saved := apis.ParkedCount{Replicas: count, Path: path.String(), By: by, At: now.UTC().Truncate(time.Second), Reason: reason}
	text, _ := json.Marshal(saved) // cannot fail
	return ParkPlan{Before: count, path: path}.plan(string(text)), nil
}

// Unpark plans to restore the recorded count of an object, and to remove the annotation. counts lists the known replica
// fields. For another recorded path, the error is an outcome.ErrRefused: anyone who can annotate objects can forge it.
func Unpark(t observe.Target, obj *unstructured.Unstructured, counts []string) (ParkPlan, error) {
	p, path, err := parked(t, obj)
	if err != nil || p == nil {
		return ParkPlan{Kept: "not parked"}, err
	}
	if !slices.Contains(counts, path.String()) {
		err := fmt.Errorf("%w: %s was parked with %s by %s, which is not known to be the field of its count; if it is, pass it with --replicas-path", outcome.ErrRefused, t, problem.Quantity(p.Replicas, "replica"), escape.Cell(path.String()))
		return ParkPlan{}, outcome.WithHint(err, "to forget it", forget(t))
	}
	return ParkPlan{After: p.Replicas, By: p.By, path: *path}.plan(""), nil
}

// parked returns the recorded count of an object, and the path of its field. Both are nil if the object is
// not parked. If the count is no longer zero or cannot be read, the error is an outcome.ErrOverwritten.
func parked(t observe.Target, obj *unstructured.Unstructured) (*apis.ParkedCount, *fieldpath.Path, error) {
	if err := Refuse(t, obj); err != nil {
		return nil, nil, err
	}
	p, path, err := facts.Parked(obj)
	if err != nil {
		err = outcome.WithHint(fmt.Errorf("%s: %s", t, escape.Line(err.Error())), "to forget it", forget(t))
	}
	if p == nil {
		return nil, nil, err
	}
	count, err := countAt(t, obj, *path)
	if err == nil && count == 0 {
		return p, path, nil
	}
	what := fmt.Sprintf("has been scaled to %d since", count)
	if err != nil {
		what = "has changed since: " + escape.Line(err.Error())
	}
	back := scaleTo(t, strconv.Itoa(int(p.Replicas)))
	if p.Path != ".spec.replicas" {
		back = back.With("--replicas-path", escape.Line(p.Path))
	}
	err = fmt.Errorf("%w: %s was parked with %s and %s", outcome.ErrOverwritten, t, problem.Quantity(p.Replicas, "replica"), what)
	err = outcome.WithHint(err, "to keep the count as it is", forget(t))
	return nil, nil, outcome.WithHint(err, "to set it back after that", back)
}

func countAt(t observe.Target, obj *unstructured.Unstructured, path fieldpath.Path) (int32, error) {
	n, found, err := path.Get(obj.Object)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", t, err)
	case !found:
		return 0, Request{Current: AnyCount}.NotSet(t, discover.Field{Path: &path})
	case n < 0 || n > math.MaxInt32:
		return 0, fmt.Errorf("%s: %s is %d, which is no count", t, path, n)
	}
	return int32(n), nil
}

func forget(t observe.Target) commandline.Command {
	return commandline.Kubectl("annotate", t.Kind.CRD()+"/"+t.Name).In(t.Namespace).With(apis.AnnotationParked + "-")
}

// Refusal explains why the server or a webhook rejected the change to zero. It returns other errors unchanged.
func (p ParkPlan) Refusal(t observe.Target, err error) error {
	var answer apierrors.APIStatus
	if p.After != 0 || !errors.As(err, &answer) || !apierrors.IsInvalid(err) && !strings.Contains(err.Error(), "denied the request") {
		return err
	}
	return fmt.Errorf("%s cannot be parked: the server rejects a change of %s to zero: %s", t, p.path, escape.Line(answer.Status().Message))
}
