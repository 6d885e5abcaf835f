// Package podtemplate searches a kind's schema and an object for the fields that define the pods. It
// also sets images, environments, and resources in pod templates. It sends no requests.
package podtemplate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

const maxCandidates = 50

// Form is the type of content in a field.
type Form int

// The forms of fields that define pods.
const (
	Template Form = iota // a pod template: an object whose spec has containers
	Image                // the name of an image, as a string
	Parts                // several images, an image in parts (such as a repository and a tag), or one such part
)

// Candidate is a field that might define the pods.
type Candidate struct {
	Path fieldpath.Path
	Form Form
	// Pattern means that Path contains a placeholder, because the object has no element to select.
	Pattern bool
	// Declared means that the schema has the field. Otherwise, only the object has it.
	Declared bool
	// Value is the string in the object, such as an image, or "".
	Value string
	// Fields are the names of the fields that form the image, if Form is Parts and the field is an object.
	Fields []string
}

// Candidates returns at most maxCandidates pod templates and images under .spec, shallow paths first. It omits images
// in pod templates, in lists of containers, and in volumes. See candidates.Walk for the arguments.
func Candidates(schema, obj map[string]any) []Candidate {
	var all []Candidate
	candidates.Walk(schema, obj, func(n candidates.Node) bool {
		if len(all) >= maxCandidates || apart(n.Name()) {
			return false
		}
		c := Candidate{Path: n.Path, Pattern: n.Pattern, Declared: n.Schema != nil}
		switch {
		case isTemplate(n):
			c.Form = Template
		case !namesImage(n.Name()):
			return true
		case holds[string](n, "string"):
			c.Form = Image
			if partial(n.Name()) {
				c.Form = Parts
			}
			c.Value, _ = n.Value.(string)
		case holds[map[string]any](n, "object"):
			value, _ := n.Value.(map[string]any)
			fields := sets.KeySet(fieldpath.Object(n.Schema, "properties")).Union(sets.KeySet(value))
			c.Form, c.Fields = Parts, sets.List(fields)
		default:
			return false // a list, a number, or a boolean
		}
		all = append(all, c)
		return false
	})
	return all
}

// Choose returns the field to write, and whether the choice is unambiguous. There must be only one
// candidate, either a pod template or the string .spec.image in the schema.
func Choose(all []Candidate) (Candidate, bool) {
	if len(all) != 1 || all[0].Pattern {
		return Candidate{}, false
	}
	only := all[0]
	path := only.Path.String()
	if only.Form == Template {
		// If only the object has the template, another object of this kind may have several.
		return only, only.Declared || path == ".spec.template"
	}
	// An image at a deeper level belongs to a component, such as a backup.
	return only, only.Form == Image && only.Declared && path == ".spec.image"
}

// isTemplate reports whether a node is a pod template according to its schema or its value.
func isTemplate(n candidates.Node) bool {
	declared := fieldpath.Object(n.Schema, "properties", "spec", "properties", "containers")
	if items := fieldpath.Object(declared, "items"); declared != nil && (fieldpath.Object(items, "properties")["image"] != nil || items["properties"] == nil) {
		return true
	}
	value, _ := n.Value.(map[string]any)
	containers := fieldpath.Objects(fieldpath.Object(value, "spec")["containers"])
	return slices.ContainsFunc(containers, func(container map[string]any) bool {
		_, has := container["image"].(string)
		return has
	})
}

// holds reports whether the type in a node's schema is kind or, if the schema has no type, whether the value is a T.
func holds[T any](n candidates.Node, kind string) bool {
	_, is := n.Value.(T)
	return n.Schema["type"] == kind || n.Schema["type"] == nil && is
}

// namesImage reports whether a field name can refer to an image, such as applicationImage, imageTag, or images. Names
// with "pull" or "download", such as imagePullPolicy, cannot.
func namesImage(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "image") && !strings.Contains(name, "pull") && !strings.Contains(name, "download")
}

// partial reports whether a field with this name, such as imageTag, holds only a part of an image.
func partial(name string) bool {
	words := candidates.Words(name)
	return slices.Contains([]string{"tag", "version", "digest", "repository", "registry"}, words[len(words)-1])
}

// apart reports whether to skip a field with this name, because images in it are not the main image of the pods.
func apart(name string) bool {
	switch name = strings.ToLower(name); name {
	case "containers", "initcontainers", "ephemeralcontainers", "sidecars", "extracontainers", "additionalcontainers",
		"volumes", "volumesource", "volume", "volumeclaimtemplates", "affinity", "imagepullsecrets":
		return true
	}
	return strings.HasSuffix(name, "affinity")
}
