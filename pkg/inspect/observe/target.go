// Package observe reads a target and all below it, follows it by watches, and waits
// until it meets a condition.
package observe

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Target is one object that a command acts on.
type Target struct {
	Kind            kinds.Kind
	Namespace, Name string
	// Object is the object as it was read to find it; nil where nothing was read.
	Object *unstructured.Unstructured
	// Path is the field of the count, where the command line names it.
	Path *fieldpath.Path
}

// Named is the object of a name in a namespace, or in none where its kind is cluster-scoped.
func Named(kind kinds.Kind, namespace, name string) Target {
	if kind.Clusterwide {
		namespace = ""
	}
	return Target{Kind: kind, Namespace: namespace, Name: name}
}

// Read reads the object of the target, unless that was done.
func (t *Target) Read(ctx context.Context, client dynamic.Interface) (err error) {
	if t.Object == nil {
		t.Object, err = t.Resource(client).Get(ctx, t.Name, metav1.GetOptions{})
	}
	return err
}

// String names the target as people do, such as "imoocpod/foo".
func (t Target) String() string { return status.ShortType(t.Kind.String()) + "/" + t.Name }

// Resource is the client for the target and its like.
func (t Target) Resource(client dynamic.Interface) dynamic.ResourceInterface {
	if t.Kind.Clusterwide {
		return client.Resource(t.Kind.Resource)
	}
	return client.Resource(t.Kind.Resource).Namespace(t.Namespace)
}
