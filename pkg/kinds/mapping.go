package kinds

import corev1 "k8s.io/api/core/v1"

// Mapping declares how a kind is reconciled: by which strategy, where in an object
// the plan finds what it needs, and where it says what came of it. A path is
// the names of the fields from the root of the object; an empty one says that
// the kind has no such field.
type Mapping struct {
	Strategy Strategy
	// TemplatePath holds a pod template; Template is used where nothing is there.
	TemplatePath []string
	Template     *corev1.PodTemplateSpec
	// ImagePath, CommandPath and EnvPath hold the image, the command and the
	// environment of the one container, for kinds without a template.
	ImagePath, CommandPath, EnvPath []string
	// Image is the image where ImagePath is empty or nothing is there.
	Image string
	// DeploymentNamePath holds the name of the Deployment, which is otherwise the
	// object's own.
	DeploymentNamePath []string
	// NameLabel is the label of the pods that holds the name of the object.
	NameLabel string
	// HistoryLimit is how many old revisions are kept of an object that does not say it;
	// nil: as many as the built-in kinds keep.
	HistoryLimit *int32
	// Status says where in the status the plan's findings are written.
	Status StatusPaths
}

// StatusPaths are the fields of a status, the root of the object included. What
// is empty is not written.
type StatusPaths struct {
	// Selector holds the label selector of the pods, as text.
	Selector []string
	// Desired, Current, Updated, Ready and Available hold counts of pods.
	Desired, Current, Updated, Ready, Available []string
	// PodNames holds the names of the pods, sorted; never null.
	PodNames []string
	// ObservedGeneration and Conditions are where the API conventions have them.
	ObservedGeneration, Conditions []string
	// Empty holds what is written into fields of .status that the schema demands,
	// and for which there is nothing to say.
	Empty map[string]any
}

// paths are those of all findings, nil for those that the kind has no field for.
func (at StatusPaths) paths() [][]string {
	return [][]string{at.Selector, at.Desired, at.Current, at.Updated, at.Ready, at.Available, at.PodNames, at.ObservedGeneration, at.Conditions}
}

// Reconciled reports whether "run-controller" reconciles the kind.
func (k Kind) Reconciled() bool { return k.Mapping.Strategy != "" }
