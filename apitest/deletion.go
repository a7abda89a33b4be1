package apitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// readDeletion reads the options of a deletion from the body, or from the query if there is no
// body.
func readDeletion(req *http.Request, body []byte, media string) (opts metav1.DeleteOptions, err error) {
	if len(body) > 0 {
		if body, err = asJSON(body, media); err == nil {
			err = json.Unmarshal(body, &opts)
		}
		if err != nil {
			return opts, apierrors.NewBadRequest(fmt.Sprintf("read DeleteOptions: %v", err))
		}
		if opts.Kind != "" && opts.Kind != "DeleteOptions" {
			return opts, apierrors.NewBadRequest(fmt.Sprintf("decoded object cannot be converted to DeleteOptions: it is a %s", opts.Kind))
		}
	} else if err := metascheme.ParameterCodec.DecodeParameters(req.URL.Query(), metav1.SchemeGroupVersion, &opts); err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	if errs := validation.ValidateDeleteOptions(&opts); len(errs) > 0 {
		return opts, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return opts, nil
}

// remainingFinalizers returns the finalizers of an object that is being deleted: its own, and one
// that tells the garbage collector what to do with the objects that it owns.
func remainingFinalizers(opts metav1.DeleteOptions, meta map[string]any) []any {
	policy, orphan := opts.PropagationPolicy, opts.OrphanDependents //nolint:staticcheck // clients still send it
	var all []any
	for _, f := range stringsOf(meta["finalizers"]) {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents || policy == nil && orphan == nil {
			all = append(all, f)
		}
	}
	add := ""
	switch {
	case policy != nil && *policy == metav1.DeletePropagationForeground:
		add = metav1.FinalizerDeleteDependents
	case policy != nil && *policy == metav1.DeletePropagationOrphan, orphan != nil && *orphan:
		add = metav1.FinalizerOrphanDependents
	}
	if add != "" && !slices.Contains(all, any(add)) {
		all = append(all, add)
	}
	return all
}

// graceOf returns how many seconds a Pod stays while it is being deleted. It is 0 if no kubelet
// runs the Pod, or if the Pod has ended.
func graceOf(opts metav1.DeleteOptions, pod map[string]any) int64 {
	seconds := int64(30)
	if n, ok := lookup(pod, "spec.terminationGracePeriodSeconds").(int64); ok {
		seconds = n
	}
	if opts.GracePeriodSeconds != nil {
		seconds = *opts.GracePeriodSeconds
	}
	phase, _ := lookup(pod, "status.phase").(string)
	if node, _ := lookup(pod, "spec.nodeName").(string); node == "" || phase == "Failed" || phase == "Succeeded" {
		return 0
	}
	return max(seconds, 0)
}

func stringsOf(v any) (all []string) {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// writeOptions reads the options of a creation, an update or a patch from its query. Those of a
// patch have all that the others have.
func writeOptions(verb string, query url.Values, media string) (opts metav1.PatchOptions, err error) {
	if err := metascheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, &opts); err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	var kind string
	var errs field.ErrorList
	switch verb {
	case "create":
		kind = "CreateOptions"
		errs = validation.ValidateCreateOptions(&metav1.CreateOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation})
	case "update":
		kind = "UpdateOptions"
		errs = validation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation})
	case "patch":
		kind = "PatchOptions"
		errs = validation.ValidatePatchOptions(&opts, types.PatchType(media))
	}
	if len(errs) > 0 {
		return opts, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return opts, nil
}

// remove deletes an object. If the object has finalizers or a grace period, remove only marks it
// for deletion.
func (s *storage) remove(t *table, w write, opts metav1.DeleteOptions) (*revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cur := t.current(objectKey(w.namespace, w.name))
	if cur == nil {
		return nil, notFound(t.res, w.name)
	}
	if err := checkPreconditions(opts.Preconditions, t.res, cur); err != nil {
		if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
			status.ErrStatus.Details.Kind = t.res.Kind // for the same conflict, an update names the plural
		}
		return nil, err
	}
	obj, err := t.shown(cur).decode(t.res)
	if err != nil {
		return nil, err
	}
	meta := metadataOf(obj)
	before := meta["deletionTimestamp"]
	finalizers := remainingFinalizers(opts, meta)
	grace := int64(0)
	if t.rules.graceful && !w.direct {
		grace = graceOf(opts, obj)
	}
	had, _ := meta["deletionGracePeriodSeconds"].(int64)
	gone := len(finalizers) == 0 && grace == 0
	if before != nil && !gone && grace >= had && sameJSON(finalizers, meta["finalizers"]) {
		return cur, nil
	}
	if gone && (!t.rules.graceful || w.direct) {
		r, err := s.bury(t, cur)
		if err == nil && t.res.ID() == "namespaces" && !w.direct {
			r, err = t.encode(terminating(obj), r.rv)
		}
		return r, err
	}
	if before == nil || grace < had {
		meta["deletionTimestamp"] = time.Now().UTC().Add(time.Duration(grace) * time.Second).Format(time.RFC3339)
		meta["deletionGracePeriodSeconds"] = grace
	}
	if g, ok := meta["generation"].(int64); ok && before == nil {
		meta["generation"] = g + 1
	}
	if gone {
		// It is marked for deletion first, and watchers see that change.
		if before == nil {
			if cur, err = s.put(t, obj, cur.tracked); err != nil {
				return nil, err
			}
		} else if cur, err = t.encode(obj, cur.rv); err != nil {
			return nil, err
		}
		return s.bury(t, cur)
	}
	if len(finalizers) > 0 {
		meta["finalizers"] = finalizers
	}
	return s.put(t, obj, cur.tracked)
}

// terminating returns the Namespace as the answer to its deletion shows it. In this server the
// Namespace is gone at once, as if its controller had run.
func terminating(obj map[string]any) map[string]any {
	obj, meta := shallow(obj)
	meta["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	obj["status"] = map[string]any{"phase": "Terminating"}
	return obj
}

// bury commits the deletion of the object whose last state is cur. The caller holds the lock.
func (s *storage) bury(t *table, cur *revision) (*revision, error) {
	r := cur.at(s.rv + 1)
	r.deleted = true
	s.commit(t, r)
	return r, nil
}

func hasGrace(meta map[string]any) bool {
	grace, _ := meta["deletionGracePeriodSeconds"].(int64)
	return grace > 0
}
