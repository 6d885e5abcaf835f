// Package observe reads an object and its children, follows them with watches, and waits for conditions.
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

// Target is an object that a command acts on.
type Target struct {
	Kind            kinds.Kind
	Namespace, Name string
	// Object is nil if the target has not been read.
	Object *unstructured.Unstructured
	// Path is the path of the replica field from the command line, or nil.
	Path *fieldpath.Path
}

// Named returns a target that has not been read. It ignores the namespace if the kind is cluster-scoped.
func Named(kind kinds.Kind, namespace, name string) Target {
	if kind.Clusterwide {
		namespace = ""
	}
	return Target{Kind: kind, Namespace: namespace, Name: name}
}

// Read reads the object of the target if it has not been read.
func (t *Target) Read(ctx context.Context, client dynamic.Interface) (err error) {
	if t.Object == nil {
		t.Object, err = t.Resource(client).Get(ctx, t.Name, metav1.GetOptions{})
	}
	return err
}

// String returns a name such as "imoocpod/foo".
func (t Target) String() string { return status.ShortType(t.Kind.String()) + "/" + t.Name }

// Resource returns the client for the kind and the namespace of the target.
func (t Target) Resource(client dynamic.Interface) dynamic.ResourceInterface {
	if t.Kind.Clusterwide {
		return client.Resource(t.Kind.Resource)
	}
	return client.Resource(t.Kind.Resource).Namespace(t.Namespace)
}
