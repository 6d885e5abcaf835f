// Package facts reads the status of objects. It uses the schema and the annotations of the CRD, embedded
// profiles for CRDs that other programs install, and built-in knowledge.
package facts

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// The annotations of a CRD that describe the status of its objects. Expressions are listed one per line.
const (
	// annotationUnit names the unit of the count if the count is not a number of pods.
	annotationUnit = apis.Prefix + "unit"
	// annotationReadyWhen lists expressions that must all be true for a ready object. An object has failed or
	// is paused if any expression in annotationFailedWhen or annotationPausedWhen, respectively, is true.
	annotationReadyWhen  = apis.Prefix + "ready-when"
	annotationFailedWhen = apis.Prefix + "failed-when"
	annotationPausedWhen = apis.Prefix + "paused-when"
	// annotationPausedHint is an instruction or a command that ends a pause.
	annotationPausedHint = apis.Prefix + "paused-hint"
	// annotationPartitionPath is the path of the number or percentage of pods that keep the older template.
	annotationPartitionPath = apis.Prefix + "partition-path"
	// annotationRestartPath is the path of the field that a restart sets to the current time.
	annotationRestartPath = apis.Prefix + "restart-path"
)

func statusAnnotations() []string {
	return []string{
		annotationUnit, annotationReadyWhen, annotationFailedWhen, annotationPausedWhen, annotationPausedHint, annotationPartitionPath,
		annotationRestartPath, kinds.AnnotationDesiredPath, kinds.AnnotationCurrentPath, kinds.AnnotationReadyPath, kinds.AnnotationUpdatedPath, kinds.AnnotationAvailablePath,
	}
}

// GenerationFrom is the place of the observed generation in a status.
type GenerationFrom string

// The values of GenerationFrom.
const (
	GenerationField      GenerationFrom = ".status.observedGeneration"
	GenerationText       GenerationFrom = ".status.observedGeneration, as a string"
	GenerationConditions GenerationFrom = "the newest of .status.conditions[*].observedGeneration"
	GenerationNone       GenerationFrom = "none"
)

// Facts describes how to interpret the status of all objects of a kind. All paths begin at the root of an object.
type Facts struct {
	// Generation is the place of the observed generation in the status.
	Generation GenerationFrom `json:"generation"`
	// Conditions is true if the status is known to have conditions.
	Conditions bool `json:"conditions"`
	// Count is the path of the desired count, or "" if no path is known. Unit is the unit of the count, such as
	// "pod". OtherCounts lists other counts in the spec. Several is true if an object has several groups of pods.
	Count       string   `json:"count,omitempty"`
	Unit        string   `json:"unit"`
	OtherCounts []string `json:"otherCounts,omitempty"`
	Several     bool     `json:"several,omitempty"`
	// Desired, Current, Ready, Updated, and Available list status fields that count pods. The first one found is used.
	Desired   []string `json:"desired,omitempty"`
	Current   []string `json:"current,omitempty"`
	Ready     []string `json:"ready,omitempty"`
	Updated   []string `json:"updated,omitempty"`
	Available []string `json:"available,omitempty"`
	// Zero lists counts that are zero if absent. An absent updated count is zero only if there is a pod template.
	Zero []string `json:"absentIsZero,omitempty"`
	// ScaleCount and ScaleSelector are the status fields that /scale shows.
	ScaleCount    string `json:"scaleCount,omitempty"`
	ScaleSelector string `json:"scaleSelector,omitempty"`
	// Partition is the field with the number or percentage of pods that keep the older template. If Ordinal is true, it
	// holds an ordinal: pods with lower ordinals keep the older template, and the rollout is complete without them.
	Partition string `json:"partition,omitempty"`
	Ordinal   bool   `json:"ordinal,omitempty"`
	// OnDelete is the field whose value is "OnDelete" if only deleted pods are replaced.
	OnDelete string `json:"onDelete,omitempty"`
	// Restart is the field that a restart sets to the current time.
	Restart string `json:"restart,omitempty"`
	// ReadyWhen, FailedWhen, PausedWhen, and PausedHint have the meanings of the annotations with these names.
	ReadyWhen  []fieldpath.Expression `json:"readyWhen,omitempty"`
	FailedWhen []fieldpath.Expression `json:"failedWhen,omitempty"`
	PausedWhen []fieldpath.Expression `json:"pausedWhen,omitempty"`
	PausedHint string                 `json:"pausedHint,omitempty"`
	// From names the sources of the facts.
	From []string `json:"from"`

	builtIn  bool
	schema   map[string]any
	profiled bool // false if ReadyWhen comes from an annotation of the CRD
}

// New returns the facts of a kind, or an error if an annotation is invalid. count is the path of the desired
// count, or nil if the path is unknown.
func New(kind kinds.Kind, source kinds.Source, count *fieldpath.Path) (Facts, error) {
	f := Facts{Generation: GenerationNone, Unit: "pod"}
	if kind.BuiltIn() {
		return builtInFacts(kind), nil
	}
	f.fromSchema(source, count)
	said := readProfile(kind.CRD())
	if len(said) > 0 {
		f.From = append(f.From, "profile")
	}
	_, declared := source.Annotations[annotationReadyWhen]
	f.profiled = !declared
	for _, key := range statusAnnotations() {
		if word, is := source.Annotations[key]; is {
			said[key] = word
			f.From = append(f.From, "annotation "+key)
		}
	}
	return f, f.fromAnnotations(said)
}

// builtInFacts returns the facts of a built-in kind. If "kubectl rollout status" supports the kind, they match it.
func builtInFacts(kind kinds.Kind) Facts {
	f := Facts{
		Generation: GenerationField, Unit: "pod", Count: ".spec.replicas", From: []string{"built in"}, builtIn: true,
		Current: []string{".status.replicas"}, Ready: []string{".status.readyReplicas"},
	}
	switch kind.CRD() {
	case kinds.Deployments:
		f.Conditions = true
		f.Updated, f.Available = []string{".status.updatedReplicas"}, []string{".status.availableReplicas"}
		f.PausedWhen, _ = expressions("{.spec.paused}=true") // a test checks that the expression is valid
		f.PausedHint = "kubectl imoocpod resume deployment/NAME"
	case kinds.StatefulSets:
		f.Updated = []string{".status.updatedReplicas"}
		f.Partition, f.Ordinal = ".spec.updateStrategy.rollingUpdate.partition", true
		f.OnDelete = ".spec.updateStrategy.type"
	case kinds.DaemonSets:
		f.Count = ""
		f.Desired, f.Current = []string{".status.desiredNumberScheduled"}, []string{".status.currentNumberScheduled"}
		f.Ready, f.Updated, f.Available = []string{".status.numberReady"}, []string{".status.updatedNumberScheduled"}, []string{".status.numberAvailable"}
		f.OnDelete = ".spec.updateStrategy.type"
	case kinds.ReplicaSets, kinds.ReplicationControllers:
		f.Available = []string{".status.availableReplicas"}
	default:
		in := fieldpath.Fields("status")
		f = Facts{Generation: GenerationNone, Unit: "pod", From: []string{"built in"}, builtIn: true,
			Current: pick(in, nil, currentFields(), true), Ready: pick(in, nil, readyFields(), true)}
		if kind.CRD() == kinds.Jobs {
			f.PausedWhen, _ = expressions("{.spec.suspend}=true")
			f.PausedHint = "kubectl imoocpod resume job/NAME"
		}
		return f
	}
	f.Zero = slices.Concat(f.Desired, f.Current, f.Ready, f.Updated, f.Available)
	return f
}

// Rules returns the names of the verdict rules that apply to objects of the kind.
func (f Facts) Rules() []string {
	o := status.Object{Identity: status.Identity{Foreign: true, BuiltIn: f.builtIn}, Counts: status.Counts{NoCount: f.Count == "" && len(f.Desired) == 0}, Evidence: status.Evidence{Generation: 1}}
	f.read(&o, nil)
	return status.Rules(o)
}

// pick returns the paths of those named fields in an object that are integers in the schema or, if all is set, of all.
func pick(in fieldpath.Path, schema map[string]any, names []string, all bool) []string {
	var found []string
	for _, name := range names {
		path := in.With(fieldpath.Step{Name: name})
		if all || path.TypeIn(schema) == "integer" {
			found = append(found, path.String())
		}
	}
	return found
}

// fromSchema adds the facts from the schema and from /scale.
func (f *Facts) fromSchema(source kinds.Source, count *fieldpath.Path) {
	root := source.Schema
	f.schema = root
	declared := fieldpath.Resolve(root, fieldpath.Object(root, "properties", "status"))
	properties := fieldpath.Object(declared, "properties")
	unnamed := len(properties) == 0 || fieldpath.Open(declared)
	if root != nil {
		f.From = append(f.From, "schema")
	}
	if source.StatusServed {
		f.generation(root, properties)
	}
	in, scaled := fieldpath.Fields("status"), source.StatusPath != ""
	if count != nil {
		f.Count = count.String()
		f.Unit = candidates.Unit(count.Last().Name)
		f.otherCounts(root, count, source.SpecPath == "")
		path, err := fieldpath.ParseSteps(source.SpecPath)
		if scaled = err == nil && path.String() == f.Count; scaled {
			in = within(source.StatusPath)
		}
	}
	if scaled {
		f.From = append(f.From, "/scale")
		f.ScaleCount, f.ScaleSelector = source.StatusPath, source.SelectorPath
	}
	if !f.Several && f.ScaleCount != "" {
		f.Current = []string{f.ScaleCount}
	} else {
		f.Current = pick(in, root, currentFields(), unnamed)
	}
	f.Ready = pick(in, root, readyFields(), unnamed)
	f.Updated = pick(in, root, []string{"updatedReplicas", "updatedNumberScheduled", "upToDateReplicas"}, unnamed)
	f.Available = pick(in, root, []string{"availableReplicas", "numberAvailable"}, unnamed)
	if f.Unit != "pod" {
		// These fields count pods, but the count has another unit.
		f.Ready, f.Updated, f.Available = nil, nil, nil
	}
	if count == nil && len(properties) > 0 { // if the status were a map of numbers, every name would match
		f.Desired = pick(in, root, []string{"desiredNumberScheduled"}, false)
	}
	if !unnamed && source.StatusServed {
		f.Zero = slices.Concat(f.Desired, f.Ready[:min(1, len(f.Ready))], f.Updated)
	}
	f.PausedWhen, _ = expressions("{.spec.paused}=true\n{.spec.suspend}=true") // these expressions are valid
	f.OnDelete = ".spec.updateStrategy.type"
}

func (f *Facts) generation(root, properties map[string]any) {
	f.Conditions = properties["conditions"] != nil
	item := fieldpath.Resolve(root, fieldpath.Object(fieldpath.Resolve(root, fieldpath.Object(properties, "conditions")), "items"))
	switch declared := fieldpath.Object(properties, "observedGeneration"); {
	case declared["type"] == "string":
		f.Generation = GenerationText
	case declared != nil:
		f.Generation = GenerationField
	case fieldpath.Object(item, "properties", "observedGeneration") != nil:
		f.Generation = GenerationConditions
	}
}

// within returns the path of the object that contains a field, or .status if the field is not in the status.
func within(path string) fieldpath.Path {
	names, err := fieldpath.FieldNames(path)
	if err != nil || len(names) < 2 || names[0] != "status" {
		return fieldpath.Fields("status")
	}
	return fieldpath.Fields(names...).Parent()
}

// otherCounts sets OtherCounts and Several. If sharded is set, a count of shards next to count means several groups.
func (f *Facts) otherCounts(root map[string]any, count *fieldpath.Path, sharded bool) {
	f.Several = slices.ContainsFunc(count.Steps, func(s fieldpath.Step) bool { return s.Kind != fieldpath.Field })
	for _, field := range candidates.Fields(root, nil) {
		path := field.Path
		if field.Pattern || path.String() == count.String() {
			continue
		}
		name := path.Last().Name
		another := f.Count != ".spec.replicas" || !slices.Contains([]string{"size", "count", "scale", "replica"}, name)
		if len(path.Steps) <= len(count.Steps) && another {
			f.OtherCounts = append(f.OtherCounts, path.String())
		}
		f.Several = f.Several || len(count.Steps) > 2 && len(path.Steps) > 2 && name == count.Last().Name
		f.Several = f.Several || sharded && f.Unit == "pod" && candidates.Unit(name) == "shard" &&
			count.Parent().String() == path.Parent().String()
	}
}

// fromAnnotations replaces facts from the schema with facts from annotations or a profile.
func (f *Facts) fromAnnotations(said map[string]string) error {
	for key, at := range map[string]*[]string{
		kinds.AnnotationDesiredPath: &f.Desired, kinds.AnnotationCurrentPath: &f.Current, kinds.AnnotationReadyPath: &f.Ready,
		kinds.AnnotationUpdatedPath: &f.Updated, kinds.AnnotationAvailablePath: &f.Available,
	} {
		if word, is := said[key]; is {
			if _, err := fieldpath.FieldNames(word); err != nil {
				return fmt.Errorf("annotation %s: %w", key, err)
			}
			// The controller writes a field that an annotation names, so an absent field means zero.
			*at, f.Zero = []string{word}, append(f.Zero, word)
		}
	}
	slices.Sort(f.Zero)
	f.Zero = slices.Compact(f.Zero)
	for key, at := range map[string]*string{annotationPartitionPath: &f.Partition, annotationRestartPath: &f.Restart} {
		if word, is := said[key]; is {
			// "restart" writes to the restart path, so the path must not lead to a label or a finalizer.
			if names, err := fieldpath.FieldNames(word); err != nil || len(names) < 2 || names[0] != "spec" {
				return fmt.Errorf("annotation %s: %q is not a path to a field of .spec", key, word)
			}
			*at = word
		}
	}
	if word, is := said[annotationUnit]; is {
		f.Unit = cmp.Or(strings.ToLower(strings.TrimSpace(word)), "pod")
	}
	f.PausedHint = said[annotationPausedHint]
	for key, at := range map[string]*[]fieldpath.Expression{
		annotationReadyWhen: &f.ReadyWhen, annotationFailedWhen: &f.FailedWhen, annotationPausedWhen: &f.PausedWhen,
	} {
		if word, is := said[key]; is {
			var err error
			if *at, err = expressions(word); err != nil {
				return fmt.Errorf("annotation %s: %w", key, err)
			}
		}
	}
	return nil
}

// mostExpressions is the maximum number of expressions in an annotation.
const mostExpressions = 20

// expressions parses a list with one expression per line.
func expressions(text string) ([]fieldpath.Expression, error) {
	var all []fieldpath.Expression
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e, err := fieldpath.ParseExpression(line)
		switch {
		case err != nil:
			return nil, err
		case !e.Plain():
			return nil, fmt.Errorf("%s: an annotation must not use .., *, or a union", e.Path)
		case len(all) == mostExpressions:
			return nil, fmt.Errorf("more than %d expressions", mostExpressions)
		}
		all = append(all, e)
	}
	return all, nil
}

// pausedBy returns an instruction or a command to end a pause. held is the expression that detected the pause.
func pausedBy(f Facts, o status.Object, held fieldpath.Expression) (string, *commandline.Command) {
	object := o.Type + "/" + o.Name
	switch {
	case f.PausedHint != "":
		words := strings.Fields(f.PausedHint)
		if len(words) == 0 || words[0] != "kubectl" {
			return strings.ReplaceAll(f.PausedHint, "NAME", o.Name), nil
		}
		// An annotation of the CRD may contain shell syntax, so each word is quoted.
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "NAME", o.Name)
		}
		return "", new(commandline.Kubectl(words[1:]...).In(o.Namespace))
	case strings.HasPrefix(fieldOf(held), ".spec."):
		return "unset " + fieldOf(held) + " of " + object + " to continue", nil
	}
	return "find out what " + object + " is waiting for", nil
}

// profiles contains annotations for CRDs of other programs, one file per CRD. Annotations of the CRD take precedence.
//
//go:embed profiles/*.yaml
var profiles embed.FS

// readProfile returns the profile of a CRD as a map of annotations. The map is empty if the CRD has no profile.
func readProfile(crd string) map[string]string {
	words, said := map[string]string{}, map[string]string{}
	data, _ := profiles.ReadFile("profiles/" + crd + ".yaml") // most kinds have no profile
	utilruntime.Must(yaml.UnmarshalStrict(data, &words))
	for key, word := range words {
		said[apis.Prefix+key] = strings.TrimSpace(word)
	}
	return said
}
