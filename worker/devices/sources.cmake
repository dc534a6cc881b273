set(RETORT_DEVICES_SOURCES
  devices/cuda_plugin.cc
  devices/devices.cc
  devices/device_meter.cc)
