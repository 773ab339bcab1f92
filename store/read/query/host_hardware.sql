-- The adapters of agents' hosts, each as it was said last.
SELECT agent, adapter, time, device, nic_model, board, firmware, cpu, pcie, nps, kernel
FROM host_hardware
WHERE fabric = {fabric:String} AND ({device:String} = '' OR device = {device:String} OR agent = {device:String})
ORDER BY time DESC
LIMIT 1 BY agent, adapter
