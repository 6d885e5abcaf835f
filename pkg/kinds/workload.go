package kinds

import "github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"

// The workloads that are built into Kubernetes, in the format of Kind.CRD.
const (
	Deployments            = "deployments.apps"
	StatefulSets           = "statefulsets.apps"
	DaemonSets             = "daemonsets.apps"
	ReplicaSets            = "replicasets.apps"
	ReplicationControllers = "replicationcontrollers"
	Jobs                   = "jobs.batch"
	CronJobs               = "cronjobs.batch"
)

type workload struct {
	template    []string
	pauseSwitch []string // the path of the boolean field that pauses the object, or nil
	// rollsOut means that the controller replaces pods when the template changes. As in kubectl, such
	// workloads can be restarted, and have revisions.
	rollsOut bool
}

func workloads() map[string]workload {
	template := []string{"spec", "template"}
	suspend := []string{"spec", "suspend"}
	return map[string]workload{
		Deployments:            {template: template, pauseSwitch: []string{"spec", "paused"}, rollsOut: true},
		StatefulSets:           {template: template, rollsOut: true},
		DaemonSets:             {template: template, rollsOut: true},
		ReplicaSets:            {template: template},
		ReplicationControllers: {template: template},
		Jobs:                   {template: template, pauseSwitch: suspend},
		CronJobs:               {template: []string{"spec", "jobTemplate", "spec", "template"}, pauseSwitch: suspend},
	}
}

// TemplatePath returns the path of the pod template of a reconciled kind or a built-in workload, or nil.
func (k Kind) TemplatePath() []string {
	if k.Reconciled() {
		return k.Mapping.TemplatePath
	}
	return workloads()[k.CRD()].template
}

// RollsOut reports whether the kind is a built-in workload whose controller replaces pods when the template changes.
func (k Kind) RollsOut() bool { return workloads()[k.CRD()].rollsOut }

// PauseSwitch returns the path of the boolean field that pauses an object of the kind, or nil. For a
// custom kind, it returns the first common path that is a boolean in the schema.
func PauseSwitch(kind Kind, schema map[string]any) []string {
	if kind.BuiltIn() {
		return workloads()[kind.CRD()].pauseSwitch
	}
	for _, path := range [][]string{{"spec", "paused"}, {"spec", "suspend"}, {"spec", "updateStrategy", "paused"}} {
		at := schema
		for _, name := range path {
			at = fieldpath.Object(fieldpath.Resolve(schema, at), "properties", name)
		}
		if fieldpath.Resolve(schema, at)["type"] == "boolean" {
			return path
		}
	}
	return nil
}
