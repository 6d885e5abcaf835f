// Command kruise is the manager of OpenKruise, with all its controllers and webhooks. The original
// command listens on all addresses of the machine. This command listens only on loopback, and needs
// no leader election. Both commands read the same settings from the environment (WEBHOOK_HOST,
// WEBHOOK_PORT, WEBHOOK_CERT_DIR).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	appsv1alpha1 "github.com/openkruise/kruise/apis/apps/v1alpha1"
	appsv1beta1 "github.com/openkruise/kruise/apis/apps/v1beta1"
	policyv1alpha1 "github.com/openkruise/kruise/apis/policy/v1alpha1"
	"github.com/openkruise/kruise/pkg/client"
	"github.com/openkruise/kruise/pkg/control/pubcontrol"
	"github.com/openkruise/kruise/pkg/controller"
	"github.com/openkruise/kruise/pkg/features"
	"github.com/openkruise/kruise/pkg/util"
	kruiseclient "github.com/openkruise/kruise/pkg/util/client"
	"github.com/openkruise/kruise/pkg/util/controllerfinder"
	"github.com/openkruise/kruise/pkg/util/feature"
	"github.com/openkruise/kruise/pkg/util/fieldindex"
	"github.com/openkruise/kruise/pkg/webhook"
	webhookutil "github.com/openkruise/kruise/pkg/webhook/util"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/capabilities"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	feature.DefaultMutableFeatureGate.AddFlag(pflag.CommandLine)
	pflag.Parse()
	features.SetDefaultFeatureGates()
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	ctrl.SetLogger(klog.Background())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		klog.ErrorS(err, "The manager ended")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

func run(ctx context.Context) error {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme, policyv1alpha1.AddToScheme,
	} {
		if err := add(known); err != nil {
			return err
		}
	}
	for _, add := range []func(*runtime.Scheme) error{appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme} {
		if err := add(scheme.Scheme); err != nil { // used for events and owner references
			return err
		}
	}
	known.AddUnversionedTypes(metav1.SchemeGroupVersion, &metav1.UpdateOptions{}, &metav1.DeleteOptions{}, &metav1.CreateOptions{})

	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst, config.UserAgent = 200, 400, "kruise-manager"
	if err := client.NewRegistry(config); err != nil {
		return err
	}
	if err := util.InitProtectionLogger(); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:   known,
		Metrics:  metricsserver.Options{BindAddress: "0"},
		NewCache: kruiseclient.NewCache,
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{
			Host: "127.0.0.1", Port: webhookutil.GetPort(), CertDir: webhookutil.GetCertDir(),
		}),
	})
	if err != nil {
		return err
	}
	if err := controllerfinder.InitControllerFinder(manager); err != nil {
		return err
	}
	pubcontrol.InitPubControl(manager.GetClient(), controllerfinder.Finder, manager.GetEventRecorderFor("pub-controller"))
	if err := fieldindex.RegisterFieldIndexes(manager.GetCache()); err != nil {
		return err
	}
	if err := webhook.SetupWithManager(manager); err != nil {
		return err
	}
	if err := webhook.Initialize(ctx, config); err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() {
		if err := webhook.WaitReady(); err != nil {
			ended <- err
			return
		}
		if err := controller.SetupWithManager(manager); err != nil {
			ended <- err
		}
	}()
	go func() { ended <- manager.Start(ctx) }()
	return <-ended
}
