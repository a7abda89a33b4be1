package main

import "k8s.io/apimachinery/pkg/types"

// slimPod has six fields of a Pod.
type slimPod struct {
	Metadata struct {
		Namespace       string    `json:"namespace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func (p *slimPod) GetNamespace() string       { return p.Metadata.Namespace }
func (p *slimPod) GetName() string            { return p.Metadata.Name }
func (p *slimPod) GetUID() types.UID          { return p.Metadata.UID }
func (p *slimPod) GetResourceVersion() string { return p.Metadata.ResourceVersion }
