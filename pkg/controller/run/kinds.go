package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Kinds selects the kinds that a loop reconciles.
type Kinds struct {
	Words []string
	Files []string
	// Declared selects all kinds that CRDs declare.
	Declared bool

	// known lists the kinds to reconcile from the start. named lists CRDs to reconcile as soon as they declare a kind.
	known []kinds.Kind
	named []string
}

// Complete sets the kinds from the flags. in is read if a file name is "-".
func (k *Kinds) Complete(in io.Reader) error {
	if k.Declared && len(k.Words) > 0 {
		return fmt.Errorf("--kinds and --declared-kinds cannot be used together")
	}
	known := kinds.Shipped()
	for _, file := range k.Files {
		declared, err := KindsOfFile(file, in)
		if err != nil {
			return fmt.Errorf("--kind-file %s: %w", file, err)
		}
		for _, kind := range declared {
			// A declaration in a file replaces the shipped kind of the same CRD.
			known = slices.DeleteFunc(known, func(other kinds.Kind) bool { return other.CRD() == kind.CRD() })
			known = append(known, kind)
		}
	}
	if err := k.choose(known); err != nil {
		return fmt.Errorf("--kinds: %w", err)
	}
	return nil
}

// KindsOfFile returns the kinds that the CRDs in a file declare. in is read if the file name is "-".
func KindsOfFile(name string, in io.Reader) ([]kinds.Kind, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	var declared []kinds.Kind
	decoder := yaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		crd := &unstructured.Unstructured{}
		err := decoder.Decode(&crd.Object)
		switch {
		case errors.Is(err, io.EOF) && len(declared) == 0:
			return nil, errors.New("the file contains no CRD")
		case errors.Is(err, io.EOF):
			return declared, nil
		case err != nil:
			return nil, err
		case len(crd.Object) == 0:
			continue // an empty document
		case crd.GetKind() != "CustomResourceDefinition":
			return nil, fmt.Errorf("the file contains a %s, but only CRDs can declare kinds", crd.GetKind())
		}
		kind, err := kinds.Declared(crd)
		if err != nil {
			return nil, err
		}
		if !kind.Reconciled() {
			return nil, fmt.Errorf("the CRD %s declares no plan: annotate it with %s", crd.GetName(), kinds.AnnotationPlan)
		}
		declared = append(declared, kind)
	}
}

// choose selects the kinds whose names are in Words or, without Words, all kinds. An unknown name with a group
// becomes a named CRD, because the CRD may declare the kind later. An unknown name without a group is an error.
func (k *Kinds) choose(all []kinds.Kind) error {
	switch {
	case k.Words == nil:
		k.known = all
	case len(k.Words) == 0:
		return errors.New("it is empty; without the flag, the shipped kinds are reconciled")
	}
	for _, word := range k.Words {
		i := slices.IndexFunc(all, func(kind kinds.Kind) bool {
			name, group, qualified := strings.Cut(strings.ToLower(word), ".")
			return (name == kind.Singular || name == kind.Resource.Resource || name == strings.ToLower(kind.Kind)) &&
				(!qualified || group == kind.Resource.Group || group == kind.Resource.Version+"."+kind.Resource.Group)
		})
		switch {
		case i < 0 && slices.Contains(k.named, strings.ToLower(word)):
		case i < 0 && strings.Contains(strings.Trim(word, "."), "."):
			k.named = append(k.named, strings.ToLower(word))
		case i < 0:
			var names []string
			for _, kind := range all {
				names = append(names, kind.Singular)
			}
			return fmt.Errorf("unknown kind %q: must be one of %s, or PLURAL.GROUP for a kind that its CRD declares", word, strings.Join(names, ", "))
		case !slices.ContainsFunc(k.known, func(kind kinds.Kind) bool { return kind.Resource == all[i].Resource }):
			k.known = append(k.known, all[i])
		}
	}
	return nil
}

// listed returns the CRDs of the kinds to reconcile. It returns nil with Declared, or if Words and Files are empty.
func (k *Kinds) listed() []string {
	if len(k.Words)+len(k.Files) == 0 || k.Declared {
		return nil
	}
	return append(kinds.CRDs(k.known), k.named...)
}

// String lists the kinds for the log.
func (k *Kinds) String() string {
	var names []string
	for _, kind := range k.known {
		if kind.Shipped() {
			names = append(names, kind.Kind+"s")
		} else {
			names = append(names, kind.CRD())
		}
	}
	names = append(names, k.named...)
	text := strings.Join(names, ", ")
	if k.Declared {
		text += ", and all kinds that CRDs declare"
	}
	return text
}
