package apiserver

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// resource is a served type.
type resource struct {
	group                  string
	plural, singular, kind string
	shortNames, categories []string
	clusterwide            bool
	// versions are the served versions, with the preferred version first.
	versions []*version
	// custom means that a CRD defines the type. review means that the server stores no objects of the type, and
	// only answers creates.
	custom, review bool
}

// version is a type in one version of its API group.
type version struct {
	name string
	// status and scale are set if the type has these subresources.
	status bool
	scale  *scalePaths
	// warning is the deprecationWarning in the CRD, or "". Responses contain it in the header Warning.
	warning string
	// schema comes from the CRD. It is nil for a built-in type.
	schema *spec.Schema
	// managers caches the field managers of the type by subresource.
	managers map[string]*managedfields.FieldManager
}

// scalePaths holds the paths of the fields that /scale shows.
type scalePaths struct {
	specReplicas, statusReplicas []string
	// selector is the path of the field that holds the label selector as a string. It is empty but not nil for a CRD
	// without such a field, and nil for a built-in type, whose selector is in spec.selector.
	selector []string
}

func (r *resource) gr() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.plural}
}

func (r *resource) gvk(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.group, Version: version, Kind: r.kind}
}

func (r *resource) version(name string) *version {
	for _, v := range r.versions {
		if v.name == name {
			return v
		}
	}
	return nil
}

// builtIn lists the API version, resource, kind, short names, and flags of the built-in types.
// Flags: c is cluster-scoped, s is /status, r is /scale, v is a review, and a is the category "all".
const builtIn = `
v1 configmaps ConfigMap cm -
v1 endpoints Endpoints ep -
v1 events Event ev -
v1 limitranges LimitRange limits -
v1 namespaces Namespace ns cs
v1 nodes Node no cs
v1 persistentvolumeclaims PersistentVolumeClaim pvc s
v1 persistentvolumes PersistentVolume pv cs
v1 pods Pod po sa
v1 replicationcontrollers ReplicationController rc sra
v1 resourcequotas ResourceQuota quota s
v1 secrets Secret - -
v1 serviceaccounts ServiceAccount sa -
v1 services Service svc sa
apps/v1 controllerrevisions ControllerRevision - -
apps/v1 daemonsets DaemonSet ds sa
apps/v1 deployments Deployment deploy sra
apps/v1 replicasets ReplicaSet rs sra
apps/v1 statefulsets StatefulSet sts sra
autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler hpa sa
batch/v1 cronjobs CronJob cj sa
batch/v1 jobs Job - sa
coordination.k8s.io/v1 leases Lease - -
networking.k8s.io/v1 networkpolicies NetworkPolicy netpol -
policy/v1 poddisruptionbudgets PodDisruptionBudget pdb s
rbac.authorization.k8s.io/v1 clusterrolebindings ClusterRoleBinding - c
rbac.authorization.k8s.io/v1 clusterroles ClusterRole - c
rbac.authorization.k8s.io/v1 rolebindings RoleBinding - -
rbac.authorization.k8s.io/v1 roles Role - -
scheduling.k8s.io/v1 priorityclasses PriorityClass pc c
storage.k8s.io/v1 storageclasses StorageClass sc c
apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition crd,crds cs
authentication.k8s.io/v1 selfsubjectreviews SelfSubjectReview - cv
authorization.k8s.io/v1 selfsubjectaccessreviews SelfSubjectAccessReview - cv
`

func builtInResources() []*resource {
	var all []*resource
	for line := range strings.Lines(strings.TrimSpace(builtIn)) {
		f := strings.Fields(line)
		gv, has := schema.FromAPIVersionAndKind(f[0], "").GroupVersion(), f[4]
		v := &version{name: gv.Version, managers: map[string]*managedfields.FieldManager{}, status: strings.Contains(has, "s")}
		if strings.Contains(has, "r") {
			v.scale = &scalePaths{specReplicas: []string{"spec", "replicas"}, statusReplicas: []string{"status", "replicas"}}
		}
		r := &resource{
			group: gv.Group, plural: f[1], singular: strings.ToLower(f[2]), kind: f[2], versions: []*version{v},
			clusterwide: strings.Contains(has, "c"), review: strings.Contains(has, "v"),
		}
		if f[3] != "-" {
			r.shortNames = strings.Split(f[3], ",")
		}
		if strings.Contains(has, "a") {
			r.categories = []string{"all"}
		}
		all = append(all, r)
	}
	return all
}

func resourceOf(crd *unstructured.Unstructured) (*resource, error) {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(crd.Object, append([]string{"spec"}, path...)...)
		return s
	}
	r := &resource{
		custom: true, group: text("group"), kind: text("names", "kind"), plural: text("names", "plural"), singular: text("names", "singular"),
		clusterwide: text("scope") == "Cluster",
	}
	if r.singular == "" {
		r.singular = strings.ToLower(r.kind)
	}
	r.shortNames, _, _ = unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames")
	r.categories, _, _ = unstructured.NestedStringSlice(crd.Object, "spec", "names", "categories")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, of := range versions {
		of, _ := of.(map[string]any)
		if of["served"] != true {
			continue
		}
		v := &version{managers: map[string]*managedfields.FieldManager{}}
		v.name, _, _ = unstructured.NestedString(of, "name")
		v.warning, _, _ = unstructured.NestedString(of, "deprecationWarning")
		_, v.status, _ = unstructured.NestedFieldNoCopy(of, "subresources", "status")
		if scale, found, _ := unstructured.NestedStringMap(of, "subresources", "scale"); found {
			v.scale = &scalePaths{specReplicas: fieldsOf(scale["specReplicasPath"]), statusReplicas: fieldsOf(scale["statusReplicasPath"]), selector: append([]string{}, fieldsOf(scale["labelSelectorPath"])...)}
		}
		properties, _, _ := unstructured.NestedMap(of, "schema", "openAPIV3Schema")
		var err error
		if v.schema, err = customSchema(r.gvk(v.name), properties); err != nil {
			return nil, err
		}
		r.versions = append(r.versions, v)
	}
	return r, nil
}

// fieldsOf splits a path such as .spec.replicas.
func fieldsOf(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
}

// register updates the served types for a changed CRD. before is nil for a new CRD, and after is nil for a deleted CRD.
func (s *Server) register(before, after *unstructured.Unstructured) error {
	if before != nil {
		group, _, _ := unstructured.NestedString(before.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(before.Object, "spec", "names", "plural")
		s.resources = slices.DeleteFunc(s.resources, func(r *resource) bool { return r.custom && r.group == group && r.plural == plural })
	}
	if after == nil {
		return nil
	}
	r, err := resourceOf(after)
	if err == nil {
		s.resources = append(s.resources, r)
	}
	return err
}

// served returns the type with a name, or nil. The name is plural, singular, or short, and a group
// may follow it, as in sets.example.com.
func (s *Server) served(word string) *resource {
	name, group, grouped := strings.Cut(word, ".")
	for _, r := range s.resources {
		if (r.plural == name || r.singular == name || slices.Contains(r.shortNames, name)) && (!grouped || r.group == group) {
			return r
		}
	}
	return nil
}

// servedKind returns the type and the version of a kind, or nil.
func (s *Server) servedKind(gvk schema.GroupVersionKind) (*resource, *version) {
	for _, r := range s.resources {
		if r.group == gvk.Group && r.kind == gvk.Kind {
			if v := r.version(gvk.Version); v != nil {
				return r, v
			}
		}
	}
	return nil, nil
}
