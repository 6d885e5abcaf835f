package kinds

import corev1 "k8s.io/api/core/v1"

// Mapping declares how a kind is reconciled: the strategy, the fields of an object that it reads, and
// the status fields that it writes. A path lists the names of the fields from the root of the object.
// It is empty if the kind lacks the field.
type Mapping struct {
	Strategy Strategy
	// TemplatePath is the path of the pod template, and Template is the default.
	TemplatePath []string
	Template     *corev1.PodTemplateSpec
	// ImagePath, CommandPath, and EnvPath are the paths of the image, command, and environment of
	// the only container of kinds without a template.
	ImagePath, CommandPath, EnvPath []string
	// Image is the default image.
	Image string
	// DeploymentNamePath is the path of the Deployment's name. By default, the Deployment has the
	// name of the object.
	DeploymentNamePath []string
	// NameLabel is the pod label with the name of the object.
	NameLabel string
	// HistoryLimit is the number of old revisions of an object without its own limit. If it is nil,
	// the default of the built-in kinds applies.
	HistoryLimit *int32
	// Status declares the status fields.
	Status StatusPaths
}

// StatusPaths contains the paths of the status fields, from the root of the object. A field with an
// empty path is not written.
type StatusPaths struct {
	// Selector is the path of the label selector of the pods, as a string.
	Selector []string
	// Desired, Current, Updated, Ready, and Available are the paths of numbers of pods.
	Desired, Current, Updated, Ready, Available []string
	// PodNames is the path of the sorted list of pod names, which is never null.
	PodNames []string
	// ObservedGeneration and Conditions follow the API conventions.
	ObservedGeneration, Conditions []string
	// Empty maps the name of each required status field that has no path to an empty value.
	Empty map[string]any
}

func (at StatusPaths) paths() [][]string {
	return [][]string{at.Selector, at.Desired, at.Current, at.Updated, at.Ready, at.Available, at.PodNames, at.ObservedGeneration, at.Conditions}
}

// Reconciled reports whether "run-controller" reconciles the kind.
func (k Kind) Reconciled() bool { return k.Mapping.Strategy != "" }
