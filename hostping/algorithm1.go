package hostping

// LinkStatus is a link's status in Algorithm 1.
type LinkStatus string

// Statuses.
const (
	Uncertain LinkStatus = "uncertain"
	Normal    LinkStatus = "normal"
	Abnormal  LinkStatus = "abnormal"
	Gray      LinkStatus = "gray"
)

// LinkFinding is a link's result of Algorithm 1.
type LinkFinding struct {
	Status      LinkStatus `json:"status"`
	AbnormalCnt int        `json:"abnormal_cnt"` // number of RNICs that mark it abnormal
}

// DetectAbnormalLinks is the paper's Algorithm 1 as published: binary tomography over normal and abnormal paths. Links
// on no path stay uncertain.
func DetectAbnormalLinks(links []string, normal, abnormal []Path) map[string]LinkFinding {
	status := map[string]*LinkFinding{}
	for _, link := range links { // InitLinkStatus
		status[link] = &LinkFinding{Status: Uncertain}
	}
	for _, path := range normal { // lines 3 to 5
		for _, link := range path.Links {
			status[link].Status = Normal
		}
	}
	marked := map[string]map[string]bool{} // RNICs that mark each link
	for _, path := range abnormal {
		for _, link := range path.Links { // lines 7 to 10
			if f := status[link]; f.Status == Uncertain {
				f.Status, f.AbnormalCnt = Abnormal, 1
				marked[link] = map[string]bool{path.RNIC: true}
			}
		}
		allNormal := true
		for _, link := range path.Links { // lines 11 to 14
			f := status[link]
			allNormal = allNormal && f.Status == Normal
			if f.Status == Abnormal && !marked[link][path.RNIC] {
				marked[link][path.RNIC] = true
				f.AbnormalCnt++
			}
		}
		for _, link := range path.Links { // lines 15 to 17
			if allNormal {
				status[link].Status = Gray
			}
		}
	}
	found := map[string]LinkFinding{}
	for link, f := range status {
		found[link] = *f
	}
	return found
}
