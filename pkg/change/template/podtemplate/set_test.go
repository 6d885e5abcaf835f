package podtemplate

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/escapetest"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

type setRow struct {
	Name             string
	Template         map[string]any
	Container        string
	Images, Env      []string
	Requests, Limits string
	Want             map[string]any
	Error            string
}

// set parses the settings of a row, and changes its template.
func (row setRow) set() error {
	var images []ImageSetting
	for _, word := range row.Images {
		image, err := ParseImage(word)
		if err != nil {
			return err
		}
		images = append(images, image)
	}
	var env []EnvSetting
	for _, word := range row.Env {
		variable, err := ParseEnv(word)
		if err != nil {
			return err
		}
		env = append(env, variable)
	}
	switch {
	case images != nil:
		return SetImages(row.Template, images)
	case env != nil:
		return SetEnv(row.Template, row.Container, env)
	}
	requests, err := ParseQuantities(row.Requests)
	if err != nil {
		return err
	}
	limits, err := ParseQuantities(row.Limits)
	if err != nil {
		return err
	}
	return SetResources(row.Template, row.Container, requests, limits)
}

func TestSet(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/set.yaml", time.Time{}, func(t *testing.T, row setRow) {
		err := row.set()
		switch {
		case row.Error != "":
			if err == nil || !strings.Contains(err.Error(), row.Error) {
				t.Errorf("error %v, want %q", err, row.Error)
			}
		case err != nil || !reflect.DeepEqual(row.Template, row.Want):
			t.Errorf("template %v, error %v; want %v", row.Template, err, row.Want)
		}
	})
}

// An image is valid if "kubectl run" accepts it: a name with an optional tag and an optional digest, or only a digest.
func TestCheckImage(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	for image, valid := range map[string]bool{
		"nginx": true, "nginx:1.30": true, "Registry.example.com:5000/team/web:V1": true, "nginx@" + digest: true, "nginx:1.30@" + digest: true, digest: true,
		"": false, "not an image!!": false, "Nginx": false, "nginx:": false, "nginx:1:2": false, "nginx@sha256:0": false, "https://example.com/nginx": false, " nginx": false, "nginx\n": false,
	} {
		if err := CheckImage(image); (err == nil) != valid {
			t.Errorf("CheckImage(%q) = %v, want valid: %t", image, err, valid)
		}
	}
}

// A parsed image, variable, or quantity can be set in a pod template with a matching container.
func FuzzSettings(f *testing.F) {
	for _, word := range []string{"", "nginx:1.30", "web=nginx", "*=nginx@sha256:0", "=nginx", "KEY=VALUE", "KEY=", "KEY-", "-", "cpu=200m,memory=512Mi", "cpu=", "cpu=1,cpu=2"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		template := func() map[string]any {
			return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "old"}}}}
		}
		container := func(template map[string]any) map[string]any { return list(template, "containers")[0] }
		if image, err := ParseImage(word); err == nil {
			set := template()
			if err := SetImages(set, []ImageSetting{image}); err == nil && container(set)["image"] != image.Image {
				t.Errorf("%q sets the image to %v, want %q", word, container(set)["image"], image.Image)
			}
		}
		if env, err := ParseEnv(word); err == nil {
			set := template()
			if err := SetEnv(set, AllContainers, []EnvSetting{env}); err != nil || (container(set)["env"] == nil) != env.Remove {
				t.Errorf("%q sets the environment to %v (%v)", word, container(set)["env"], err)
			}
		}
		if amounts, err := ParseQuantities(word); err == nil {
			if err := SetResources(template(), AllContainers, amounts, amounts); err != nil || len(amounts) == 0 {
				t.Errorf("%q sets the resources to %v (%v)", word, amounts, err)
			}
		}
	})
}

// Errors escape the names of containers, because anyone who can write the object can choose them.
func TestContainerNamesAreEscaped(t *testing.T) {
	t.Parallel()
	template := map[string]any{"spec": map[string]any{"containers": []any{
		map[string]any{"name": escapetest.Hostile}, map[string]any{"name": "b"},
	}}}
	for _, container := range []string{"", "missing"} {
		if err := SetImages(template, []ImageSetting{{container, "nginx"}}); err == nil {
			t.Errorf("SetImages accepted the container name %q", container)
		} else {
			escapetest.MustBeHarmless(t, err.Error(), err.Error())
		}
	}
}
