package podtemplate

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// AllContainers is the pattern that matches every container.
const AllContainers = "*"

// SeveralContainersError means that an image was given without a container name, but there are several containers.
type SeveralContainersError struct {
	Names []string
}

func (e *SeveralContainersError) Error() string {
	return fmt.Sprintf("it has %d containers: %s", len(e.Names), listed(e.Names))
}

// listed formats names for a message. It escapes them, because anyone who can write the object can choose them.
func listed(names []string) string { return escape.Cell(strings.Join(names, ", ")) }

// list returns the containers in a field of a pod template, without copying them.
func list(template map[string]any, field string) []map[string]any {
	return fieldpath.Objects(fieldpath.Object(template, "spec")[field])
}

// matching returns the containers that match a pattern such as "web-*", as in "kubectl set". "" matches all containers.
// No match is an error.
func matching(template map[string]any, pattern string) ([]map[string]any, error) {
	pattern = cmp.Or(pattern, AllContainers)
	var found []map[string]any
	all := append(list(template, "containers"), list(template, "initContainers")...)
	for _, c := range all {
		name, _ := c["name"].(string)
		matches, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("read the container name %q: %w", pattern, err)
		}
		if matches || name == pattern {
			found = append(found, c)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errNoContainers
	case len(found) == 0:
		return nil, fmt.Errorf("unable to find container named %q: the containers are %s", pattern, listed(names(all)))
	}
	return found, nil
}

func names(containers []map[string]any) []string {
	var all []string
	for _, c := range containers {
		name, _ := c["name"].(string)
		all = append(all, name)
	}
	return all
}
