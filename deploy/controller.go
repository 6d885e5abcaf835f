package deploy

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

const (
	// SystemNamespace is the default namespace of a controller for all namespaces.
	SystemNamespace = "imoocpod-system"
	// ControllerName is the name of the controller's Deployment and related objects.
	ControllerName = "imoocpod-controller"
	// LabelVersion is the label with the version of the program that installed the Deployment.
	LabelVersion = "app.kubernetes.io/version"
	// ControllerLabel selects the objects of controllers, such as their Deployments.
	ControllerLabel = "app.kubernetes.io/name=" + ControllerName
	// Image is the controller's default image without the tag. The default tag is the version of the program.
	Image = "ghcr.io/imoocpod/kubectl-imoocpod"
)

// Namespace returns the Namespace object for SystemNamespace. Controller does not return this object, so
// "uninstall" does not delete the namespace with all its objects.
func Namespace() *unstructured.Unstructured { return read("crds/namespace.yaml") }

// Settings configure the deployment of the controller.
type Settings struct {
	// Namespace is the namespace of the controller's pods.
	Namespace string
	// AllNamespaces means that the controller reconciles all namespaces, not only its own.
	AllNamespaces bool
	// Image is the image of the container. Replicas is the number of pods. Only one pod at a time is active.
	Image    string
	Replicas int32
	// Version is the version of the program.
	Version string
}

// Controller returns the controller's objects in the order in which to apply them. deploy/namespaced lists the same
// objects for one namespace, and deploy lists them for all namespaces, together with the roles that People returns.
func Controller(s Settings) []*unstructured.Unstructured {
	dirs := []string{"rbac/cluster", "controller"}
	if !s.AllNamespaces {
		dirs[0] = "rbac/namespaced"
	}
	var all []*unstructured.Unstructured
	for _, dir := range dirs {
		all = append(all, resources(dir)...)
	}
	if !s.AllNamespaces {
		// A priority class is cluster-scoped.
		all = slices.DeleteFunc(all, func(obj *unstructured.Unstructured) bool { return obj.GetKind() == "PriorityClass" })
	}
	for _, obj := range all {
		if obj.GetNamespace() == SystemNamespace {
			obj.SetNamespace(s.Namespace)
		}
		switch obj.GetKind() {
		case "RoleBinding", "ClusterRoleBinding":
			edit(obj.Object, func(account map[string]any) { account["namespace"] = s.Namespace }, "subjects")
		case "Deployment":
			s.putDeployment(obj)
		}
	}
	return all
}

// People returns the cluster roles for users of the shipped kinds.
func People() []*unstructured.Unstructured { return resources("rbac/people") }

// Roles returns the cluster roles for users, and the role of a controller for one namespace. It returns no bindings.
func Roles(namespace string) []*unstructured.Unstructured {
	role := read("rbac/namespaced/role.yaml")
	role.SetNamespace(namespace)
	return append(People(), role)
}

func (s Settings) putDeployment(obj *unstructured.Unstructured) {
	labels := obj.GetLabels()
	labels[LabelVersion] = s.Version
	obj.SetLabels(labels)
	utilruntime.Must(unstructured.SetNestedField(obj.Object, int64(s.Replicas), "spec", "replicas"))
	pod := []string{"spec", "template", "spec"}
	if !s.AllNamespaces {
		unstructured.RemoveNestedField(obj.Object, append(pod, "priorityClassName")...)
	}
	edit(obj.Object, func(container map[string]any) {
		container["image"] = s.Image
		if args, ok := container["args"].([]any); ok && !s.AllNamespaces {
			container["args"] = slices.DeleteFunc(args, func(arg any) bool { return arg == "--all-namespaces" })
		}
	}, append(pod, "containers")...)
}

func edit(object map[string]any, change func(map[string]any), fields ...string) {
	list, _, err := unstructured.NestedSlice(object, fields...)
	utilruntime.Must(err)
	for _, element := range list {
		if element, ok := element.(map[string]any); ok {
			change(element)
		}
	}
	utilruntime.Must(unstructured.SetNestedSlice(object, list, fields...))
}
