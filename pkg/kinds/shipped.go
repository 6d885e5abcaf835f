package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	batch "github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

// Shipped returns the kinds that ship with this program, in the order of the documentation.
func Shipped() []Kind {
	return []Kind{ImoocPod(), AppService(), HelloWorld(), MyDaemonSet()}
}

// shipped returns a kind that ships with this program. It sets the status paths that all shipped kinds have.
func shipped(group, version, kind string, replicas []string, m Mapping) Kind {
	m.Status.ObservedGeneration = []string{"status", "observedGeneration"}
	m.Status.Conditions = []string{"status", "conditions"}
	singular := strings.ToLower(kind)
	resource := schema.GroupVersionResource{Group: group, Version: version, Resource: singular + "s"}
	return Kind{Resource: resource, Kind: kind, Singular: singular, ReplicasPath: replicas, Mapping: m}
}

// ImoocPod returns the kind ImoocPod, which runs a number of pods. A NAME without a type refers to an ImoocPod.
func ImoocPod() Kind {
	return shipped(apis.GroupImoocPod, "v1alpha1", "ImoocPod", []string{"spec", "replicas"}, Mapping{
		Strategy:     StrategyPods,
		TemplatePath: []string{"spec", "template"},
		Template:     batch.DefaultTemplate(), // for objects older than the template field
		NameLabel:    apis.LabelApp,
		Status: StatusPaths{
			Selector: []string{"status", "selector"},
			Current:  []string{"status", "replicas"},
			Updated:  []string{"status", "updatedReplicas"},
			Ready:    []string{"status", "readyReplicas"},
		},
	})
}

// AppService returns the kind AppService, which applies a Deployment that the spec names.
func AppService() Kind {
	return shipped(apis.GroupAppService, "v1alpha1", "AppService", []string{"spec", "replicas"}, Mapping{
		Strategy:           StrategyDeployment,
		DeploymentNamePath: []string{"spec", "deploymentName"},
		ImagePath:          []string{"spec", "image"},
		Image:              "nginx",
		NameLabel:          apis.LabelApp,
		Status: StatusPaths{
			Selector:  []string{"status", "selector"},
			Current:   []string{"status", "replicas"},
			Available: []string{"status", "availableReplicas"},
		},
	})
}

// HelloWorld returns the kind HelloWorld, which applies an nginx Deployment and lists its pod names in the status.
func HelloWorld() Kind {
	return shipped(apis.GroupHelloWorld, "v1alpha1", "HelloWorld", []string{"spec", "size"}, Mapping{
		Strategy:  StrategyDeployment,
		Image:     "nginx",
		NameLabel: "hello_name",
		Status: StatusPaths{
			Selector:  []string{"status", "selector"},
			Current:   []string{"status", "replicas"},
			Available: []string{"status", "availableReplicas"},
			PodNames:  []string{"status", "nodes"},
		},
	})
}

// MyDaemonSet returns the kind MyDaemonSet, which runs one pod on every eligible node.
func MyDaemonSet() Kind {
	return shipped(apis.GroupMyDaemonSet, "v1beta1", "MyDaemonSet", nil, Mapping{
		Strategy:  StrategyNodes,
		ImagePath: []string{"spec", "image"},
		NameLabel: apis.LabelApp,
		Status: StatusPaths{
			Desired:   []string{"status", "desiredNumberScheduled"},
			Current:   []string{"status", "currentNumberScheduled"},
			Updated:   []string{"status", "updatedNumberScheduled"},
			Available: []string{"status", "availableReplicas"},
		},
	})
}
