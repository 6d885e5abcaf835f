package kinds

import corev1 "k8s.io/api/core/v1"

// Mapping declares how a kind is reconciled: the strategy, and the fields that the controller reads and writes. A path
// lists the field names from the root of the object. If the kind lacks a field, its path is empty.
type Mapping struct {
	Strategy Strategy
	// TemplatePath is the path of the pod template, and Template is the default template.
	TemplatePath []string
	Template     *corev1.PodTemplateSpec
	// ImagePath, CommandPath, and EnvPath are for the only container of kinds without a template.
	ImagePath, CommandPath, EnvPath []string
	// Image is the default image.
	Image string
	// DeploymentNamePath is the path of the Deployment's name. By default, the Deployment has the name of the object.
	DeploymentNamePath []string
	// NameLabel is the pod label with the name of the object.
	NameLabel string
	// HistoryLimit is the default of .spec.revisionHistoryLimit. nil means the default of the built-in kinds.
	HistoryLimit *int32
	Status       StatusPaths
}

// StatusPaths contains the paths of the status fields from the root. A field with an empty path is not written.
type StatusPaths struct {
	// Selector is the path of the label selector of the pods, as a string.
	Selector []string
	// Desired, Current, Updated, Ready, and Available are the paths of numbers of pods.
	Desired, Current, Updated, Ready, Available []string
	// PodNames is the path of the sorted list of pod names, which is never null.
	PodNames []string
	// ObservedGeneration and Conditions follow the API conventions.
	ObservedGeneration, Conditions []string
	// Empty contains an empty value for each required status field without a path, by field name.
	Empty map[string]any
}

func (at StatusPaths) paths() [][]string {
	return [][]string{at.Selector, at.Desired, at.Current, at.Updated, at.Ready, at.Available, at.PodNames, at.ObservedGeneration, at.Conditions}
}

// Reconciled reports whether "run-controller" reconciles the kind.
func (k Kind) Reconciled() bool { return k.Mapping.Strategy != "" }
