package podtemplate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

var errNoContainers = errors.New("its pod template has no containers")

// ImageSetting is the new image for one or more containers.
type ImageSetting struct {
	// Container is a name or a pattern. "" stands for the only container.
	Container, Image string
}

// ParseImage parses [CONTAINER=]IMAGE.
func ParseImage(word string) (ImageSetting, error) {
	container, image, named := strings.Cut(word, "=")
	if !named {
		container, image = "", word
	}
	if image == "" || named && container == "" {
		return ImageSetting{}, fmt.Errorf("%q is no image: use IMAGE or CONTAINER=IMAGE", word)
	}
	return ImageSetting{container, image}, CheckImage(image)
}

// CheckImage returns an error if an image name is invalid, as in "kubectl run".
func CheckImage(name string) error {
	if !reference.ReferenceRegexp.MatchString(name) {
		return fmt.Errorf("invalid image name %q: %w", name, reference.ErrReferenceInvalidFormat)
	}
	return nil
}

// SetImages sets images in a pod template. It modifies the template.
func SetImages(template map[string]any, settings []ImageSetting) error {
	for _, s := range settings {
		var err error
		containers := list(template, "containers")
		switch {
		case s.Container != "":
			containers, err = matching(template, s.Container)
		case len(containers) == 0:
			err = errNoContainers
		case len(containers) > 1:
			err = &SeveralContainersError{names(containers)}
		}
		if err != nil {
			return err
		}
		for _, c := range containers {
			c["image"] = s.Image
		}
	}
	return nil
}

// EnvSetting sets or removes an environment variable.
type EnvSetting struct {
	Name, Value string
	Remove      bool
}

// ParseEnv parses KEY=VALUE or KEY-.
func ParseEnv(word string) (EnvSetting, error) {
	name, value, set := strings.Cut(word, "=")
	s := EnvSetting{Name: name, Value: value}
	if !set {
		if s.Name, s.Remove = strings.CutSuffix(word, "-"); !s.Remove {
			return EnvSetting{}, fmt.Errorf("%q sets no variable: use KEY=VALUE, or KEY- to remove one", word)
		}
	}
	if problems := validation.IsEnvVarName(s.Name); len(problems) > 0 {
		return EnvSetting{}, fmt.Errorf("%q is no name of a variable: %s", s.Name, strings.Join(problems, ", "))
	}
	return s, nil
}

// SetEnv changes the environment of the matching containers in a pod template. It modifies the template.
func SetEnv(template map[string]any, pattern string, settings []EnvSetting) error {
	containers, err := matching(template, pattern)
	if err != nil {
		return err
	}
	for _, c := range containers {
		c["env"] = Env(c["env"], settings)
		if c["env"] == nil {
			delete(c, "env")
		}
	}
	return nil
}

// Env returns an environment with the settings applied, or nil if no variables are left. Existing variables keep their
// positions.
func Env(before any, settings []EnvSetting) any {
	list, _ := before.([]any)
	after := slices.Clone(list)
	for _, s := range settings {
		named := func(e any) bool {
			variable, _ := e.(map[string]any)
			return variable["name"] == s.Name
		}
		at := slices.IndexFunc(after, named)
		after = slices.DeleteFunc(after, named) // an earlier writer may have set the variable twice
		switch made := any(map[string]any{"name": s.Name, "value": s.Value}); {
		case s.Remove:
		case at < 0:
			after = append(after, made)
		default:
			after = slices.Insert(after, at, made)
		}
	}
	if len(after) == 0 {
		return nil
	}
	return after
}

// ListEnv returns the lines that "kubectl set env --list" prints for a field of an object. The field
// is an environment or a pod template. In a pod template, only matching containers are listed.
func ListEnv(object string, field any, pattern string) ([]string, error) {
	template, is := field.(map[string]any)
	if !is {
		return append([]string{"# " + object}, envLines(field)...), nil
	}
	containers, err := matching(template, pattern)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, c := range containers {
		lines = append(lines, fmt.Sprintf("# %s, container %s", object, c["name"]))
		lines = append(lines, envLines(c["env"])...)
	}
	return lines, nil
}

// envLines returns a line KEY=VALUE for each variable, or a comment if the value comes from another source.
func envLines(env any) []string {
	var lines []string
	for _, variable := range fieldpath.Objects(env) {
		if from := fieldpath.Object(variable, "valueFrom"); from != nil {
			lines = append(lines, fmt.Sprintf("# %s from %s", variable["name"], envSource(from)))
			continue
		}
		value, _ := variable["value"].(string)
		lines = append(lines, fmt.Sprintf("%s=%s", variable["name"], value))
	}
	return lines
}

func envSource(from map[string]any) string {
	for field, what := range map[string]string{"secretKeyRef": "secret", "configMapKeyRef": "configmap"} {
		if ref := fieldpath.Object(from, field); ref != nil {
			return fmt.Sprintf("%s %s, key %s", what, ref["name"], ref["key"])
		}
	}
	if ref := fieldpath.Object(from, "fieldRef"); ref != nil {
		return fmt.Sprintf("field path %s", ref["fieldPath"])
	}
	return strings.Join(slices.Sorted(maps.Keys(from)), ", ")
}

// Quantities maps the names of resources to amounts, such as "cpu" to "200m".
type Quantities map[string]string

// ParseQuantities parses cpu=200m,memory=512Mi.
func ParseQuantities(word string) (Quantities, error) {
	all := Quantities{}
	for pair := range strings.SplitSeq(word, ",") {
		name, amount, set := strings.Cut(pair, "=")
		if !set || name == "" {
			return nil, fmt.Errorf("%q is no amount of a resource: use NAME=QUANTITY, as in cpu=200m,memory=512Mi", pair)
		}
		if _, err := resource.ParseQuantity(amount); err != nil {
			return nil, fmt.Errorf("%q is no quantity of %s: %w", amount, name, err)
		}
		all[name] = amount
	}
	return all, nil
}

// String formats the amounts so that ParseQuantities can parse them.
func (q Quantities) String() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		pairs = append(pairs, name+"="+q[name])
	}
	return strings.Join(pairs, ",")
}

// SetResources sets the given requests and limits of the matching containers in a pod template. It keeps
// the quantities of other resources. It modifies the template.
func SetResources(template map[string]any, pattern string, requests, limits Quantities) error {
	containers, err := matching(template, pattern)
	if err != nil {
		return err
	}
	for _, c := range containers {
		for field, amounts := range map[string]Quantities{"requests": requests, "limits": limits} {
			for name, amount := range amounts {
				if err := fieldpath.Fields("resources", field, name).Set(c, amount); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
