package main

import "k8s.io/apimachinery/pkg/types"

// Pod is what this program keeps of a Pod: six strings, 96 bytes and what they point to, where the API's type takes more
// than a kilobyte before the first container. What has no field here is skipped while it is read, and
// strings that repeat, such as the name of a node, are one in memory for all its Pods.
//
// The four of Metadata are what a store wants to know of any object.
type Pod struct {
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

// These make it a store.Object.

func (p *Pod) GetNamespace() string       { return p.Metadata.Namespace }
func (p *Pod) GetName() string            { return p.Metadata.Name }
func (p *Pod) GetUID() types.UID          { return p.Metadata.UID }
func (p *Pod) GetResourceVersion() string { return p.Metadata.ResourceVersion }
