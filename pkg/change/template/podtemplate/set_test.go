package podtemplate

import (
	"reflect"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape/escapetest"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath/fieldpathtest"
)

const two = "{spec: {initContainers: [{name: init, image: i:1}], containers: [{name: app, image: a:1, env: [{name: A, value: '1'}, {name: B, valueFrom: {fieldRef: {fieldPath: x}}}]}, {name: side, image: s:1}]}}"

func TestSet(t *testing.T) {
	t.Parallel()
	one := "{spec: {containers: [{name: app, image: a:1}]}}"
	images := func(words ...string) func(map[string]any) error {
		return func(template map[string]any) error {
			var all []ImageSetting
			for _, word := range words {
				s, err := ParseImage(word)
				if err != nil {
					return err
				}
				all = append(all, s)
			}
			return SetImages(template, all)
		}
	}
	env := func(pattern string, words ...string) func(map[string]any) error {
		return func(template map[string]any) error {
			var all []EnvSetting
			for _, word := range words {
				s, err := ParseEnv(word)
				if err != nil {
					return err
				}
				all = append(all, s)
			}
			return SetEnv(template, pattern, all)
		}
	}
	resources := func(pattern, requests, limits string) func(map[string]any) error {
		return func(template map[string]any) error {
			r, err := ParseQuantities(requests)
			if err != nil {
				return err
			}
			l, err := ParseQuantities(limits)
			if err != nil {
				return err
			}
			return SetResources(template, pattern, r, l)
		}
	}
	for name, row := range map[string]struct {
		template string
		set      func(map[string]any) error
		want     string
		err      string
	}{
		"only image":      {one, images("a:2"), "{spec: {containers: [{name: app, image: 'a:2'}]}}", ""},
		"named":           {two, images("side=s:2", "init=i:2"), strings.NewReplacer("s:1", "s:2", "i:1", "i:2").Replace(two), ""},
		"pattern":         {two, images("*=x:2"), strings.NewReplacer("s:1", "x:2", "i:1", "x:2", "a:1", "x:2").Replace(two), ""},
		"digest":          {one, images("r/a@sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"), "{spec: {containers: [{name: app, image: 'r/a@sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a'}]}}", ""},
		"several":         {two, images("a:2"), "", "it has 2 containers: app, side"},
		"none of it":      {two, images("none=a:2"), "", `unable to find container named "none": the containers are app, side, init`},
		"no containers":   {"{spec: {}}", images("a:2"), "", "no containers"},
		"no image":        {one, images("app="), "", "is no image"},
		"no name":         {one, images("=a"), "", "is no image"},
		"env":             {one, env("*", "A=1", "B=x=y"), "{spec: {containers: [{name: app, image: 'a:1', env: [{name: A, value: '1'}, {name: B, value: 'x=y'}]}]}}", ""},
		"env in place":    {two, env("app", "B=2", "A-"), strings.Replace(two, "env: [{name: A, value: '1'}, {name: B, valueFrom: {fieldRef: {fieldPath: x}}}]", "env: [{name: B, value: '2'}]", 1), ""},
		"last env":        {"{spec: {containers: [{name: app, env: [{name: A}]}]}}", env("app", "A-", "C-"), "{spec: {containers: [{name: app}]}}", ""},
		"bad env":         {one, env("*", "A"), "", "sets no variable"},
		"bad name":        {one, env("*", "1 2=3"), "", "is no name of a variable"},
		"resources":       {one, resources("app", "cpu=100m", "cpu=1,memory=1Gi"), "{spec: {containers: [{name: app, image: 'a:1', resources: {requests: {cpu: 100m}, limits: {cpu: '1', memory: 1Gi}}}]}}", ""},
		"bad quantity":    {one, resources("app", "cpu=many", "cpu=1"), "", `"many" is no quantity of cpu`},
		"bad resources":   {one, resources("app", "cpu", "cpu=1"), "", "is no amount of a resource"},
		"other container": {one, resources("side", "cpu=1", "cpu=1"), "", "unable to find container"},
	} {
		template := fieldpathtest.Object(t, row.template)
		err := row.set(template)
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("%s: %v, want %q", name, err, row.err)
			}
			continue
		}
		if want := fieldpathtest.Object(t, row.want); err != nil || !reflect.DeepEqual(template, want) {
			t.Errorf("%s: %v, %v, want %v", name, template, err, want)
		}
	}
}

// An image is valid if "kubectl run" accepts it: a name with a tag, a digest, or both, or only a
// digest.
func TestCheckImage(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	for image, valid := range map[string]bool{
		"nginx": true, "nginx:1.30": true, "Registry.example.com:5000/team/web:V1": true, "nginx@" + digest: true, "nginx:1.30@" + digest: true, digest: true,
		"": false, "not an image!!": false, "Nginx": false, "nginx:": false, "nginx:1:2": false, "nginx@sha256:0": false, "https://example.com/nginx": false, " nginx": false, "nginx\n": false,
	} {
		if err := CheckImage(image); (err == nil) != valid {
			t.Errorf("%q: %v", image, err)
		}
	}
}

// Every parsed image, variable, or quantity can be set in a pod template.
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
				t.Errorf("%q sets the image %v", word, container(set)["image"])
			}
		}
		if env, err := ParseEnv(word); err == nil {
			set := template()
			if err := SetEnv(set, AllContainers, []EnvSetting{env}); err != nil || (container(set)["env"] == nil) != env.Remove {
				t.Errorf("%q sets the environment %v (%v)", word, container(set)["env"], err)
			}
		}
		if amounts, err := ParseQuantities(word); err == nil {
			if err := SetResources(template(), AllContainers, amounts, amounts); err != nil || len(amounts) == 0 {
				t.Errorf("%q sets the resources %v (%v)", word, amounts, err)
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
			t.Errorf("the container %q is found", container)
		} else {
			escapetest.MustBeHarmless(t, err.Error(), err.Error())
		}
	}
}
