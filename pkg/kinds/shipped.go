package kinds

import (
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	appcontroller "github.com/imoocpod/kubectl-imoocpod/pkg/apis/appcontroller/v1alpha1"
	apps "github.com/imoocpod/kubectl-imoocpod/pkg/apis/apps/v1beta1"
	batch "github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	test "github.com/imoocpod/kubectl-imoocpod/pkg/apis/test/v1alpha1"
)

// Shipped returns the kinds that ship with this program, in the order of the documentation.
func Shipped() []Kind {
	return []Kind{ImoocPod(), AppService(), HelloWorld(), MyDaemonSet()}
}

// ImoocPod returns the kind ImoocPod, which runs a number of pods. On the command line, a NAME
// without a type refers to an ImoocPod.
func ImoocPod() Kind {
	return Kind{
		Resource:     batch.GroupVersion().WithResource("imoocpods"),
		Kind:         "ImoocPod",
		Singular:     "imoocpod",
		ReplicasPath: []string{"spec", "replicas"},
		Mapping: Mapping{
			Strategy:     StrategyPods,
			TemplatePath: []string{"spec", "template"},
			Template:     batch.DefaultTemplate(), // for objects older than the template field
			NameLabel:    apis.LabelApp,
			Status: StatusPaths{
				Selector:           []string{"status", "selector"},
				Current:            []string{"status", "replicas"},
				Updated:            []string{"status", "updatedReplicas"},
				Ready:              []string{"status", "readyReplicas"},
				ObservedGeneration: []string{"status", "observedGeneration"},
				Conditions:         []string{"status", "conditions"},
			},
		},
	}
}

// AppService returns the kind AppService, which applies a Deployment that the spec names.
func AppService() Kind {
	return Kind{
		Resource:     appcontroller.GroupVersion().WithResource("appservices"),
		Kind:         "AppService",
		Singular:     "appservice",
		ReplicasPath: []string{"spec", "replicas"},
		Mapping: Mapping{
			Strategy:           StrategyDeployment,
			DeploymentNamePath: []string{"spec", "deploymentName"},
			ImagePath:          []string{"spec", "image"},
			Image:              "nginx",
			NameLabel:          apis.LabelApp,
			Status: StatusPaths{
				Selector:           []string{"status", "selector"},
				Current:            []string{"status", "replicas"},
				Available:          []string{"status", "availableReplicas"},
				ObservedGeneration: []string{"status", "observedGeneration"},
				Conditions:         []string{"status", "conditions"},
			},
		},
	}
}

// HelloWorld returns the kind HelloWorld, which applies an nginx Deployment and lists its pod names
// in the status.
func HelloWorld() Kind {
	return Kind{
		Resource:     test.GroupVersion().WithResource("helloworlds"),
		Kind:         "HelloWorld",
		Singular:     "helloworld",
		ReplicasPath: []string{"spec", "size"},
		Mapping: Mapping{
			Strategy:  StrategyDeployment,
			Image:     "nginx",
			NameLabel: "hello_name",
			Status: StatusPaths{
				Selector:           []string{"status", "selector"},
				Current:            []string{"status", "replicas"},
				Available:          []string{"status", "availableReplicas"},
				PodNames:           []string{"status", "nodes"},
				ObservedGeneration: []string{"status", "observedGeneration"},
				Conditions:         []string{"status", "conditions"},
			},
		},
	}
}

// MyDaemonSet returns the kind MyDaemonSet, which runs one pod on every eligible node.
func MyDaemonSet() Kind {
	return Kind{
		Resource: apps.GroupVersion().WithResource("mydaemonsets"),
		Kind:     "MyDaemonSet",
		Singular: "mydaemonset",
		Mapping: Mapping{
			Strategy:  StrategyNodes,
			ImagePath: []string{"spec", "image"},
			NameLabel: apis.LabelApp,
			Status: StatusPaths{
				Desired:            []string{"status", "desiredNumberScheduled"},
				Current:            []string{"status", "currentNumberScheduled"},
				Updated:            []string{"status", "updatedNumberScheduled"},
				Available:          []string{"status", "availableReplicas"},
				ObservedGeneration: []string{"status", "observedGeneration"},
				Conditions:         []string{"status", "conditions"},
			},
		},
	}
}
