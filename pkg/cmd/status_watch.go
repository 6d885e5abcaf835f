package cmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// watched is what is followed by one watch: an object, or with no name those of
// a kind that are selected.
type watched struct {
	observe.Target
	objects dynamic.ResourceInterface
}

// runWatch shows the objects and then every change, until all that were named
// are gone or the context ends.
func (o *statusOptions) runWatch(ctx context.Context, connection *follow.Connection, write func(io.Writer, []status.Report) error) error {
	sources, errs := o.sources(ctx)
	if len(errs) > 0 {
		if !o.named() {
			errs = errs[:1] // of the other kinds it is the same
		}
		return outcome.Join(errs)
	}
	var followed sync.WaitGroup
	defer followed.Wait()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	w := &statusWatch{options: o, write: write, connection: connection, toList: len(sources), absent: !o.named()}
	several := len(sources) != 1 || sources[0].Name == ""
	var err error
	if w.fleet, err = observe.NewFleet(ctx, &followed, o.clients, connection, several, o.inFull(), w.print, fail); err != nil {
		return err
	}
	errs = make([]error, len(sources))
	var running sync.WaitGroup
	for i, source := range sources {
		running.Go(func() { errs[i] = kube.Explain(source.Kind, w.follow(ctx, source)) })
	}
	running.Wait()
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); !o.named() {
		errs = errs[:min(1, len(errs))] // of the other kinds it is the same
	}
	return outcome.Join(errs)
}

// printConnection says where there is no screen that the connection was lost, or is
// there again.
func (o *statusOptions) printConnection(lost time.Time) {
	_, _ = fmt.Fprintln(o.streams.ErrOut, printer.Connection(lost)) // what is watched matters more
}

func (o *statusOptions) sources(ctx context.Context) ([]watched, []error) {
	var sources []watched
	var errs []error
	ofKind := func(kind kinds.Kind) {
		sources = append(sources, watched{observe.Target{Kind: kind}, o.ofKind(kind)})
	}
	switch {
	case !o.named():
		all, err := o.allKinds(ctx)
		if err != nil {
			return nil, []error{err}
		}
		for _, kind := range all {
			ofKind(kind)
		}
	case len(o.args) > 0 && o.given():
		for word := range strings.SplitSeq(o.args[0], ",") {
			kind, err := o.clients.KindNamed(ctx, word)
			if err != nil {
				return nil, []error{err}
			}
			if !hasStatus(kind) {
				return nil, []error{noStatus("the type " + kind.CRD())}
			}
			ofKind(kind)
		}
	default:
		var targets []observe.Target
		targets, errs = o.find(ctx)
		for _, t := range targets {
			sources = append(sources, watched{t, t.Resource(o.client)})
		}
	}
	return sources, errs
}

// statusWatch shows what several watches tell, one change at a time.
type statusWatch struct {
	options *statusOptions
	write   func(io.Writer, []status.Report) error
	fleet   *observe.Fleet
	// connection notes whether the server is to be found.
	connection *follow.Connection
	// absent says that kinds are left out which are not installed, or which are not ours
	// and may not be listed, and that kinds which cannot be listed yet do not end the watch.
	absent bool

	mu sync.Mutex
	// toList is how many watches have not yet said what there is; found, that
	// there is something.
	toList int
	found  bool
	served bool
}

// listed notes what a watch found at first. When all have and there is nothing,
// that is said.
func (w *statusWatch) listed(found, served bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.toList--
	w.found, w.served = w.found || found, w.served || served
	switch {
	case w.toList > 0 || w.found:
		return nil
	case !w.served:
		return &outcome.NotServedError{CRD: kinds.ImoocPod().CRD(), Shipped: true}
	}
	return w.options.sayNone()
}

// follow shows the objects of a source and then every change, a line each, until
// the context ends or, with a name, the object is gone.
func (w *statusWatch) follow(ctx context.Context, source watched) error {
	selected := metav1.ListOptions{LabelSelector: w.options.selector}
	if source.Name != "" {
		selected = follow.ByName(source.Name)
	}
	shown := shownObjects{}
	show := func(obj *unstructured.Unstructured, gone bool) error {
		shown.note(obj, gone)
		if err := w.show(source.Kind, obj, gone); err != nil {
			return err
		}
		if gone && source.Name != "" {
			return fmt.Errorf("%s was %w", source.Target, outcome.ErrGone)
		}
		return nil
	}
	first, told := true, false
	handler := follow.Handler{
		Listed: func(found []unstructured.Unstructured) (bool, error) {
			if first {
				if len(found) == 0 && source.Name != "" {
					return false, apierrors.NewNotFound(source.Kind.Resource.GroupResource(), source.Name)
				}
				if err := w.listed(len(found) > 0, true); err != nil {
					return false, err
				}
			}
			first = false
			return false, shown.catchUp(found, show)
		},
		Changed:    func(obj *unstructured.Unstructured, gone bool) (bool, error) { return false, show(obj, gone) },
		Connection: w.connection,
	}
	for {
		err := follow.Dynamic(ctx, source.objects, selected, "", handler)
		switch {
		case !first || !w.absent:
			return err
		case kube.NotServed(err), apierrors.IsForbidden(err) && !source.Kind.Shipped():
			return w.listed(false, false)
		case !follow.Transient(err):
			return err
		}
		if !told && w.options.terminal() == nil {
			w.warnUnlisted(source.Kind, err)
		}
		told = true
		if err := follow.Sleep(ctx, follow.Pause); err != nil {
			return err
		}
	}
}

// warnUnlisted says that the objects of a kind cannot be listed yet.
func (w *statusWatch) warnUnlisted(kind kinds.Kind, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = escape.PrintLine(w.options.streams.ErrOut, "Warning: cannot list %s, trying again: %v", kind.CRD(), err) // what is watched matters more
}

// show has an object shown, now and when something below it changes, or shows that it
// is gone.
func (w *statusWatch) show(kind kinds.Kind, obj *unstructured.Unstructured, gone bool) error {
	if !gone {
		w.fleet.Put(observe.Target{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj})
		return nil
	}
	w.fleet.Remove(obj.GetUID())
	facts, err := facts.Of(kind, obj)
	if err != nil {
		return err
	}
	return w.print(status.NewReport(status.Snapshot{Object: facts}).Gone())
}

func (w *statusWatch) print(r status.Report) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(w.options.streams.Out, []status.Report{r})
}

// shownObjects are those that were shown, as they last were.
type shownObjects map[types.UID]*unstructured.Unstructured

func (s shownObjects) note(obj *unstructured.Unstructured, gone bool) {
	s[obj.GetUID()] = obj
	if gone {
		delete(s, obj.GetUID())
	}
}

// catchUp shows what is not as it was last shown, and what is not there any more.
func (s shownObjects) catchUp(found []unstructured.Unstructured, show func(obj *unstructured.Unstructured, gone bool) error) error {
	missing := maps.Clone(s)
	for i := range found {
		obj := &found[i]
		before := s[obj.GetUID()]
		delete(missing, obj.GetUID())
		if before != nil && before.GetResourceVersion() == obj.GetResourceVersion() {
			continue
		}
		if err := show(obj, false); err != nil {
			return err
		}
	}
	for _, obj := range missing {
		if err := show(obj, true); err != nil {
			return err
		}
	}
	return nil
}
