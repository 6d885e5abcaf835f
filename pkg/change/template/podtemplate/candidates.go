// Package podtemplate searches a kind's schema and an object for the fields that pods
// are made from, and sets images, environments, and resources in them. It knows only
// values.
package podtemplate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// maxCandidates bounds what is found.
const maxCandidates = 50

// Form says what a field holds.
type Form int

// The forms of fields that pods are made from.
const (
	Template Form = iota // a pod template: an object whose spec has containers
	Image                // the name of an image, as a string
	Parts                // an image in parts, such as a repository and a tag, or several images
)

// Candidate is a field that pods may be made from.
type Candidate struct {
	Path fieldpath.Path
	Form Form
	// Pattern says that the object has no element there: Path shows how one would be
	// selected.
	Pattern bool
	// Declared says that the schema has the field, not the object alone.
	Declared bool
	// Value is the image that the object has there, "" if none.
	Value string
	// Fields are the names in an image in parts.
	Fields []string
}

// Candidates lists the pod templates and the images under .spec, what is shallow
// first. Images inside of a pod template are its own, and those of lists of containers
// and of volumes are left out. See candidates.Walk for the schema and for obj, which
// may be nil.
func Candidates(schema, obj map[string]any) []Candidate {
	var all []Candidate
	candidates.Walk(schema, obj, func(n candidates.Node) bool {
		if len(all) >= maxCandidates || apart(n.Name()) {
			return false
		}
		c := Candidate{Path: n.Path(), Pattern: n.Pattern, Declared: n.Schema != nil}
		switch {
		case isTemplate(n):
			c.Form = Template
		case !namesImage(n.Name()):
			return true
		case isText(n):
			c.Form = Image
			c.Value, _ = n.Value.(string)
		case isObject(n):
			c.Form, c.Fields = Parts, fieldsOf(n)
		default:
			return false // a number or a switch
		}
		all = append(all, c)
		return false
	})
	return all
}

// isTemplate reports whether a node is a pod template, by its schema or by what the
// object has there.
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

func isText(n candidates.Node) bool {
	_, text := n.Value.(string)
	return n.Schema["type"] == "string" || n.Schema["type"] == nil && text
}

func isObject(n candidates.Node) bool {
	_, object := n.Value.(map[string]any)
	return n.Schema["type"] == "object" || n.Schema["type"] == nil && object
}

// fieldsOf are the names of the fields of an object, sorted.
func fieldsOf(n candidates.Node) []string {
	value, _ := n.Value.(map[string]any)
	return sets.List(sets.KeySet(fieldpath.Object(n.Schema, "properties")).Union(sets.KeySet(value)))
}

// namesImage reports whether a field may hold an image, by its name: image,
// applicationImage, imageName, imageTag, images. A policy or a secret for pulling is
// none.
func namesImage(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "image") && !strings.Contains(name, "pull") && !strings.Contains(name, "download")
}

// apart reports whether what is in a field is known to be about no image of the
// containers that a kind itself defines.
func apart(name string) bool {
	switch name = strings.ToLower(name); name {
	case "containers", "initcontainers", "ephemeralcontainers", "sidecars", "extracontainers", "additionalcontainers",
		"volumes", "volumesource", "volume", "volumeclaimtemplates", "affinity", "imagepullsecrets":
		return true
	}
	return strings.HasSuffix(name, "affinity")
}
